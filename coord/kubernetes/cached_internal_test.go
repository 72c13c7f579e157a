package kubernetes

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOldCache: etcd is put back to an older state below API servers that go on. Whoever needs
// their lists is told to start them again, rather than try without a word; it goes on by itself
// when they were.
func TestOldCache(t *testing.T) {
	const says = "start all API servers again"
	for _, what := range []string{"slot", "record"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeAPI()
				f.takes = 10 * time.Millisecond
				g := f.grantOf(t, f.open(t), 0, 1)
				backup, c := maps.Clone(f.leases), f.open(t)
				call := func() error {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					if what == "record" {
						_, err := c.Quarantine(ctx, f.clock.Time().Add(time.Minute))
						return err
					}
					_, err := c.Acquire(ctx, f.request(1))
					return err
				}
				if what == "record" {
					f.rewrite(t)
				} else { // it seems to be free
					holder := f.open(t)
					if err := holder.Release(t.Context(), g, g.NotBefore); err != nil {
						t.Fatal(err)
					}
				}
				f.cache, f.leases = f.leases, backup
				if err := call(); err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%v; want %q", err, says)
				}
				f.cache = nil
				for began := time.Now(); call() != nil; time.Sleep(time.Second) {
					if time.Since(began) > MaxHorizon+10*time.Second {
						t.Fatalf("%v after the API servers were started again: %v", time.Since(began), call())
					}
				}
			})
		})
	}
}
