package kubernetes

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestOldCache: etcd is put back to an older state below API servers that go on. Whoever needs
// their lists is told to start them again, rather than try without a word; it goes on by itself
// when they were.
func TestOldCache(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, f *fakeAPI, c *Coordinator, g coord.Grant) error{
		"Acquire": func(ctx context.Context, f *fakeAPI, c *Coordinator, _ coord.Grant) error {
			_, err := c.Acquire(ctx, f.request(f.share))
			return err
		},
		"Quarantine": func(ctx context.Context, f *fakeAPI, c *Coordinator, _ coord.Grant) error {
			_, err := c.Quarantine(ctx, f.clock.Time().Add(time.Minute))
			return err
		},
		"Renew": func(ctx context.Context, f *fakeAPI, c *Coordinator, g coord.Grant) error {
			_, err := c.Renew(ctx, g, f.request(1).Until+200)
			return err
		},
	} {
		for n, what := range []string{"a slot", "the record", "a slot, and it is another process", "the record, and it is another process"} {
			if name == "Renew" && n > 1 {
				continue
			}
			t.Run(name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFakeAPI()
					f.takes, f.share = 10*time.Millisecond, 200
					c := f.open(t)
					g := f.grantOf(t, c, 0, 1)
					backup := maps.Clone(f.leases)
					if n%2 == 1 {
						f.rewrite(t)
					} else if n == 2 { // it seems to be free
						if err := c.Release(t.Context(), g, g.NotBefore); err != nil {
							t.Fatal(err)
						}
						f.share = 1
					} else if _, err := c.Renew(t.Context(), g, g.NotAfter+100); err != nil {
						t.Fatal(err)
					}
					if f.cache, f.leases = f.leases, backup; n > 1 {
						c = f.open(t)
					}
					underOldCache(t, f, func() error {
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						defer cancel()
						return call(ctx, f, c, g)
					})
				})
			})
		}
	}
}

// underOldCache makes calls until one is done, with API servers that are started again after the
// first.
func underOldCache(t *testing.T, f *fakeAPI, call func() error) {
	t.Helper()
	const says = "start all API servers again"
	err := call()
	if err != nil && !errors.Is(err, coord.ErrQuarantined) && (!strings.Contains(err.Error(), says) || coord.Permanent(err)) {
		t.Errorf("%v; want that it is done, or %q", err, says)
	}
	f.cache = nil
	for began := time.Now(); ; time.Sleep(time.Second) {
		switch err = call(); {
		case err == nil:
			return
		case time.Since(began) > MaxHorizon+10*time.Second || strings.Contains(err.Error(), says):
			t.Fatalf("%v after the API servers were started again: %v", time.Since(began), err)
		}
	}
}
