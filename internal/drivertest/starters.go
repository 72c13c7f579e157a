package drivertest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// CrowdTTL is how long many starters may take, and the TTL of what they hold: all of it is
// still held when the last of them has started.
const CrowdTTL = 4 * CallTime

// Crowd are coordinators of one namespace over which many holders are spread.
type Crowd[C coord.Coordinator] struct {
	Members []C
	// Again reports whether a starter tries again after an error, as the library does. Nil:
	// none does.
	Again func(error) bool
}

// Acquire lets n holders acquire any worker ID, so many at once, and checks that no
// worker ID is held twice.
func (c *Crowd[C]) Acquire(tb testing.TB, n, atOnce int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), CrowdTTL)
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
		safetytest.Of(tb).Fatalf("%d starters hold %d different worker IDs", n, unique)
	}
}

// one acquires for one holder, which tries again as [Crowd.Again] says.
func (c *Crowd[C]) one(ctx context.Context, member C) (worker int, err error) {
	for req := Request(Capacity); ; {
		req.TTL = CrowdTTL
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
