package kubernetes

import (
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
		before := f.requests()
		const lasts = 10 * time.Minute
		time.Sleep(lasts)
		rate := float64(f.requests()-before) / lasts.Seconds() * 1000 / float64(holders)
		t.Logf("1000 holders make %.1f requests a second", rate)
		if rate > 450 || rate < 400 {
			t.Errorf("1000 holders make %.1f requests a second; want 400, for what they hold, to 450", rate)
		}
		for _, g := range all {
			_ = g.Close(t.Context())
		}
	})
}
