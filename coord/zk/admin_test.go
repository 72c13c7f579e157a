package zk_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

func TestInit(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
	for range 2 {
		if err := c.Init(within(t), space()); err != nil {
			t.Fatalf("Init of a new namespace: %v", err)
		}
	}
	floor, err := c.Quarantine(within(t), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	if g, want := mustAcquire(t, c, request(1)), scale().Tick(floor.UnixMicro()); g.NotBefore != want {
		t.Errorf("the floor is %d, and %v was granted after the namespace was declared new again", want, g)
	}
	if err := c.Init(within(t), space()); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Init of a namespace in use: %v; want %v", err, coord.ErrInvalid)
	}
	other := space()
	other.Fingerprint = "40/10/13/1ms/2024-01-01T00:00:00Z"
	if err := c.Init(within(t), other); !errors.Is(err, coord.ErrLayoutMismatch) {
		t.Errorf("Init with another layout: %v; want %v", err, coord.ErrLayoutMismatch)
	}
	if err := c.Init(within(t), coord.Space{}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Init with nothing: %v; want %v", err, coord.ErrInvalid)
	}
}

func TestQuarantine(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
	if _, err := c.Quarantine(within(t), time.Time{}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Quarantine of no namespace: %v; want %v", err, coord.ErrInvalid)
	}
	g := mustAcquire(t, c, request(2))
	before := tickNow()
	floor, err := c.Quarantine(within(t), time.Time{})
	if err != nil || scale().Tick(floor.UnixMicro()) < before+ward {
		t.Errorf("Quarantine: until %v, %v; want at least tick %d", floor, err, before+ward)
	}
	if again, err := c.Quarantine(within(t), time.Now()); err != nil || !again.Equal(floor) {
		t.Errorf("an earlier floor: %v, %v; want %v", again, err, floor)
	}
	if h, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew below the floor: %v, %v; want %v", h, err, coord.ErrQuarantined)
	}
	if _, err := c.Quarantine(within(t), time.Now().AddDate(100, 0, 0)); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("a floor beyond the layout: %v; want %v", err, coord.ErrInvalid)
	}
}

func TestRetire(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
	if err := c.Retire(within(t), 0); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Retire in no namespace: %v; want %v", err, coord.ErrInvalid)
	}
	g := mustAcquire(t, c, request(2))
	lost := c.Lost(g)
	for _, id := range []int{-1, capacity} {
		if err := c.Retire(within(t), id); !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("Retire of worker ID %d: %v; want %v", id, err, coord.ErrInvalid)
		}
	}
	for range 2 {
		for id := range 2 { // one that is held and one that never was
			if err := c.Retire(within(t), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	select {
	case <-lost:
	case <-time.After(callTime):
		t.Error("the holder gets no hint")
	}
	if h, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of a worker ID that was retired: %v, %v; want %v", h, err, coord.ErrLeaseLost)
	}
	var full *coord.NoWorkerIDError
	if h, err := c.Acquire(within(t), request(2)); !errors.As(err, &full) || full.Capacity != 0 || full.InUse != 0 {
		t.Errorf("Acquire with all worker IDs retired: %v, %v", h, err)
	}
	slots, err := c.List(within(t))
	if err != nil || len(slots) != 2 || slots[0].State != coord.SlotRetired || slots[1].State != coord.SlotRetired {
		t.Errorf("List: %v, %v; want two that are retired", slots, err)
	}
}

func TestList(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
	if slots, err := c.List(within(t)); len(slots) != 0 || err != nil {
		t.Errorf("List of no namespace: %v, %v", slots, err)
	}
	req := request(1)
	req.Identity, req.Holder = "pod-a", "host, process 7"
	g := mustAcquire(t, c, req)
	if err := c.Release(within(t), g, g.NotBefore+5); err != nil {
		t.Fatal(err)
	}
	h := mustAcquire(t, c, request(2))
	for h.WorkerID == g.WorkerID {
		h = mustAcquire(t, c, request(2))
	}
	slots, err := c.List(within(t))
	if err != nil || len(slots) != 2 {
		t.Fatalf("List: %v, %v; want two", slots, err)
	}
	s := slots[h.WorkerID]
	if s.State != coord.SlotHeld || s.Generation != h.Generation || s.NotAfter != h.NotAfter || time.Since(s.Since).Abs() > callTime {
		t.Errorf("the slot of %v is %+v", h, s)
	}
}

// TestInspect: what is stored for the namespace as a whole.
func TestInspect(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
	coordtest.CheckInspect(within(t), t, c, space())
}
