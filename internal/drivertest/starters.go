package drivertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// long is how long many starters may take, and the TTL of what they hold: all of it is
// still held when the last of them has started.
const long = 4 * CallTime

// Crowd are coordinators of one namespace over which many holders are spread.
type Crowd[C coord.Coordinator] struct {
	Namespace string
	Members   []C
	// Again reports whether a starter tries again after an error, as the library does. Nil:
	// none does.
	Again func(error) bool
}

// Acquire lets n holders acquire any worker ID, so many at once, and checks that no
// worker ID is held twice.
func (c *Crowd[C]) Acquire(tb testing.TB, n, atOnce int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), long)
	defer cancel()
	ids, errs := make([]int, n), make([]error, n)
	places := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			ids[i], errs[i] = c.one(ctx, c.Members[i%len(c.Members)])
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			tb.Fatalf("one of %d starters: %v", n, err)
		}
	}
	slices.Sort(ids)
	if unique := len(slices.Compact(ids)); unique != n {
		tb.Fatalf("%d starters hold %d different worker IDs", n, unique)
	}
}

// one acquires for one holder, which tries again as [Crowd.Again] says.
func (c *Crowd[C]) one(ctx context.Context, member C) (worker int, err error) {
	for req := Request(Capacity); ; {
		req.TTL = long
		g, err := member.Acquire(ctx, req)
		if err == nil || c.Again == nil || !c.Again(err) {
			return g.WorkerID, err
		}
		select { // a back end that is too busy gets less to do, as the library sees to
		case <-ctx.Done():
			return 0, err
		case <-time.After(rand.N(3 * time.Second)):
		}
		token := req.Token
		req = Request(Capacity)
		req.Token = token
	}
}

// Starters lets as many holders start as there are worker IDs, at once if the race detector is
// off. All of them succeed, and one more is told when the next worker ID may become free, and
// when its holder was seen last.
func (c *Crowd[C]) Starters(t *testing.T) {
	t.Helper()
	began := time.Now()
	c.Acquire(t, Capacity, startAtOnce)
	t.Logf("%d starters, %d coordinators: %v", Capacity, len(c.Members), time.Since(began))

	asked := time.Now()
	_, err := c.Members[0].Acquire(Within(t), Request(Capacity))
	t.Logf("one starter more: refused after %v: %v", time.Since(asked), err)
	full, ok := errors.AsType[*coord.NoWorkerIDError](err)
	if !ok {
		t.Fatalf("one starter more: %v; want a NoWorkerIDError", err)
	}
	if full.Capacity != Capacity || full.InUse != Capacity || full.Namespace != c.Namespace {
		t.Errorf("one starter more: %#v; want all %d worker IDs of %s in use", full, Capacity,
			c.Namespace)
	}
	// A back end keeps times in units of its own, and by a clock of its own.
	const slack = 5 * time.Second
	between := func(what string, at time.Time, ttl time.Duration) {
		if at.Before(began.Add(ttl-slack)) || at.After(time.Now().Add(ttl+slack)) {
			t.Errorf("one starter more: %s at %v; the others have started since %v with a TTL of %v", what,
				at, began, long)
		}
	}
	between("the next worker ID is free", full.Soonest, long)
	between("its holder was seen last", full.LastSeen, 0)
}
