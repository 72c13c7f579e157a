package etcd_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

func TestList(t *testing.T) {
	server := etcdtest.Start(t)
	c := newCoordinator(t, server.Client(t), rand.Text(), nil)
	if slots, err := c.List(within(t)); err != nil || len(slots) != 0 {
		t.Errorf("List of nothing: %v, %v", slots, err)
	}
	began := time.Now().Truncate(time.Millisecond)
	var grants []coord.Grant
	for range 3 {
		req := request(3)
		req.Identity, req.Holder = "pod-a", "host:17"
		grants = append(grants, mustAcquire(t, c, req))
	}
	if err := c.Release(within(t), grants[1], grants[1].NotBefore); err != nil {
		t.Fatal(err)
	}
	if err := c.Retire(within(t), grants[2].WorkerID); err != nil {
		t.Fatal(err)
	}
	slots, err := c.List(within(t))
	if err != nil || len(slots) != 3 {
		t.Fatalf("List: %v, %v; want 3 slots", slots, err)
	}
	states := []coord.SlotState{coord.SlotHeld, coord.SlotFree, coord.SlotRetired}
	for i, s := range slots {
		if s.WorkerID != i || s.State != states[i] || s.Layout != layout || s.Holder != "host:17" || s.Identity != "pod-a" {
			t.Errorf("slot %d is %+v; want it %v, held by host:17, pod-a", i, s, states[i])
		}
		if s.Since.Before(began) || s.Renewed.Before(s.Since) {
			t.Errorf("slot %d is held since %v, renewed %v; the test began at %v", i, s.Since, s.Renewed, began)
		}
	}
	held := slots[0]
	if held.NotAfter != grants[0].NotAfter || !held.Until.Equal(time.UnixMicro(scale().Micro(grants[0].NotAfter+1))) {
		t.Errorf("the window of %+v; granted was %v", held, grants[0])
	}
}

func TestInit(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.Client(t)
	c := newCoordinator(t, client, rand.Text(), nil)
	if _, err := c.Quarantine(within(t), time.Time{}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Quarantine of nothing: %v; want %v", err, coord.ErrInvalid)
	}
	if err := c.Retire(within(t), 0); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Retire in nothing: %v; want %v", err, coord.ErrInvalid)
	}
	for range 2 {
		if err := c.Init(within(t), space()); err != nil {
			t.Fatal(err)
		}
	}
	other := space()
	other.Fingerprint = "40/10/13,1ms,2024-01-01T00:00:00Z"
	if err := c.Init(within(t), other); !errors.Is(err, coord.ErrLayoutMismatch) {
		t.Errorf("Init with another layout: %v; want %v", err, coord.ErrLayoutMismatch)
	}
	if err := c.Init(within(t), coord.Space{}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Init with nothing: %v; want %v", err, coord.ErrInvalid)
	}
	floor, err := c.Quarantine(within(t), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	g := mustAcquire(t, c, request(capacity))
	if want := scale().Tick(floor.UnixMicro()); g.NotBefore != want {
		t.Errorf("the floor is %d, and %v was granted after the namespace was declared new again", want, g)
	}
	if err := c.Release(within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
	if err := c.Init(within(t), space()); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Init where there was a grant: %v; want %v", err, coord.ErrInvalid)
	}
}

func TestQuarantine(t *testing.T) {
	server := etcdtest.Start(t)
	c := newCoordinator(t, server.Client(t), rand.Text(), nil)
	g := mustAcquire(t, c, request(capacity))
	soon := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	for _, until := range []time.Time{soon, soon.Add(-time.Hour)} {
		if floor, err := c.Quarantine(within(t), until); err != nil || !floor.Equal(soon) {
			t.Errorf("Quarantine until %v: %v, %v; want %v", until, floor, err, soon)
		}
	}
	want := scale().Tick(soon.UnixMicro())
	if h := mustAcquire(t, c, request(capacity)); h.NotBefore != want {
		t.Errorf("Acquire below the floor %d: %v", want, h)
	}
	var q *coord.QuarantinedError
	if h, err := c.Renew(within(t), g, g.NotAfter+1); !errors.As(err, &q) || q.Until.Before(soon) {
		t.Errorf("Renew below the floor: %v, %v; want %v until %v", h, err, coord.ErrQuarantined, soon)
	}
	began := time.Now().Truncate(time.Millisecond) // the floor is a tick
	floor, err := c.Quarantine(within(t), time.Time{})
	if err != nil || floor.Before(began.Add(ward)) || floor.After(time.Now().Add(ward)) {
		t.Errorf("Quarantine: %v, %v; want now + %v", floor, err, ward)
	}
	if _, err := c.Quarantine(within(t), time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Quarantine beyond the layout: %v; want %v", err, coord.ErrInvalid)
	}
}

func TestRetire(t *testing.T) {
	server := etcdtest.Start(t)
	c := newCoordinator(t, server.Client(t), rand.Text(), nil)
	g := mustAcquire(t, c, request(2))
	for range 2 {
		if err := c.Retire(within(t), g.WorkerID); err != nil {
			t.Fatal(err)
		}
	}
	if h, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of a retired worker ID: %v, %v; want %v", h, err, coord.ErrLeaseLost)
	}
	if err := c.Release(within(t), g, g.NotBefore); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Release of a retired worker ID: %v; want %v", err, coord.ErrLeaseLost)
	}
	mustAcquire(t, c, request(2))
	var full *coord.NoWorkerIDError
	if h, err := c.Acquire(within(t), request(2)); !errors.As(err, &full) || full.Capacity != 1 || full.InUse != 1 {
		t.Errorf("Acquire with one held and one retired: %v, %v", h, err)
	}
	if err := c.Retire(within(t), 7); err != nil {
		t.Errorf("Retire of a worker ID that was never granted: %v", err)
	}
	for _, id := range []int{-1, capacity} {
		if err := c.Retire(within(t), id); !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("Retire of %d: %v; want %v", id, err, coord.ErrInvalid)
		}
	}
}

// TestInspect: what is stored for the namespace as a whole.
func TestInspect(t *testing.T) {
	c := newCoordinator(t, etcdtest.Start(t).Client(t), rand.Text(), nil)
	coordtest.CheckInspect(within(t), t, c, space())
}
