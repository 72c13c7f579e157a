package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// Three programs with two worker IDs each are killed, all at once, again and again.
// Every start of each of them succeeds.
func TestKilledTogether(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	var slowest time.Duration
	for range fulltest.Rounds(5, 50) {
		var all []*drivertest.Child
		began := time.Now()
		for range 3 {
			all = append(all, startChild(t, dir, "stripes"))
		}
		for _, c := range all {
			c.Line(t)
			slowest = max(slowest, time.Since(began))
		}
		for _, c := range all {
			c.Kill()
		}
	}
	t.Logf("the slowest start took %v", slowest)
}

// One machine has one clock: whatever holders have stored, nobody is refused for it.
func TestOneMachineOneClock(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	early := clocktest.NewShifted(time.Now().Add(-time.Hour))
	c := openFolder(t, dir, "n", &Options{Clock: early})
	for range 3 {
		req := request(100)
		req.Now, req.Until = req.Now-time.Hour.Milliseconds(), req.Until-time.Hour.Milliseconds()
		mustAcquire(t, c, req)
	}
	mustAcquire(t, openFolder(t, dir, "n", nil), request(100))
	if _, err := openFolder(t, dir, "n", nil).Quarantine(within(t), time.Time{}); err != nil {
		t.Error(err)
	}
}

// crashed is a folder with one worker ID, whose holder was killed.
func crashed(t *testing.T, ttl time.Duration) (dir, namespace string) {
	t.Helper()
	dir, namespace = newDir(t), rand.Text()
	c, err := New(within(t), dir, namespace, Options{})
	if err != nil {
		t.Fatal(err)
	}
	req := request(1)
	req.TTL = ttl
	mustAcquire(t, c, req)
	if err := c.Close(); err != nil { // nothing is released, as with kill -9
		t.Fatal(err)
	}
	return dir, namespace
}

// A lease that stood still while nobody ran the server is waited for.
func TestShareOfOne(t *testing.T) {
	t.Parallel()
	dir, ns := crashed(t, 2*time.Second)
	began := time.Now()
	g, err := core.New(within(t), openFolder(t, dir, ns, nil), core.Config{Lease: coord.LeaseConfig{WorkerIDs: coord.Range{Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started after %v", time.Since(began))
	if err := g.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// Whoever looks for long enough sees that a holder is dead. A namespace whose holders
// were killed can then be followed.
func TestListAfterACrash(t *testing.T) {
	t.Parallel()
	dir, ns := crashed(t, 2*time.Second)
	prev := openFolder(t, dir, ns, nil)
	space := core.DefaultLayout().Space()
	if _, err := follow.EndOf(within(t), prev, space); err != nil {
		if _, held := errors.AsType[*follow.HeldError](err); !held {
			t.Fatal(err)
		}
	}
	eventually(t, "the lease of the dead holder has ended", func() bool {
		_, err := follow.EndOf(within(t), prev, space)
		return err == nil
	})
}
