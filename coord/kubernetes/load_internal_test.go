package kubernetes

import (
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestLoad: what generators that hold a worker ID cost the API server, with the lease times that
// they have if nobody sets any: at most 450 requests a second for a thousand.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, holders := newFakeAPI(), fulltest.Rounds(20, 1000)
		var all []*core.Generator
		for range holders { // processes of their own
			g, err := core.New(t.Context(), f.open(t), core.Config{Clock: f.clock})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, g)
		}
		time.Sleep(time.Minute) // in which they spread
		f.mu.Lock()
		before := maps.Clone(f.counts)
		f.mu.Unlock()
		const lasts = 10 * time.Minute
		time.Sleep(lasts)
		f.mu.Lock()
		sum := 0
		for verb := range f.counts {
			f.counts[verb] -= before[verb]
			sum += f.counts[verb]
		}
		rate := float64(sum) / lasts.Seconds() * 1000 / float64(holders)
		t.Logf("%d holders make %v in %v: 1000 make %.1f requests a second", holders, f.counts, lasts, rate)
		if rate > 450 || rate < 400 {
			t.Errorf("1000 holders make %.1f requests a second; want 400, for what they hold, to 450", rate)
		}
		f.mu.Unlock()
		var closing sync.WaitGroup
		for _, g := range all {
			if now := g.Health(); len(now.Workers) != 1 {
				t.Errorf("a generator has %d worker IDs", len(now.Workers))
			}
			closing.Go(func() { _ = g.Close(t.Context()) })
		}
		closing.Wait()
	})
}
