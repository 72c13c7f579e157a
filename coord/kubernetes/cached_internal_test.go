package kubernetes

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// request is drivertest.Request by the clock of the API server.
func (f *fakeAPI) request(n int) coord.Request {
	req := drivertest.Request(n)
	req.Now = drivertest.Scale().Tick(f.clock.UnixMicro())
	req.OpenBy, req.Until = req.Now, req.Now+10_000
	return req
}

// open is a coordinator of a process.
func (f *fakeAPI) open(t *testing.T) *Coordinator {
	t.Helper()
	c, err := New(&http.Client{Transport: far{f}}, "http://h", "orders", Options{In: "shop", Clock: f.clock, Logger: slog.New(slog.DiscardHandler)})
	return drivertest.Closing(t, c, err)
}

// far is a client whose requests take some time, so that whoever makes them without an end is given up.
type far struct{ *fakeAPI }

// RoundTrip implements [http.RoundTripper].
func (f far) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(10 * time.Millisecond)
	return f.fakeAPI.RoundTrip(r)
}

// since are changes since a backup, by the holder of a grant.
var since = map[string]func(t *testing.T, f *fakeAPI, c *Coordinator, g coord.Grant) error{
	"a slot": func(t *testing.T, _ *fakeAPI, c *Coordinator, g coord.Grant) error {
		t.Helper()
		_, err := c.Renew(t.Context(), g, g.NotAfter+100)
		return err
	},
	"the record": func(t *testing.T, f *fakeAPI, _ *Coordinator, _ coord.Grant) error {
		t.Helper()
		s := hand(t, &http.Client{Transport: f}, "http://h", "orders", "shop")
		o, _, err := s.get(t.Context(), s.objectName(-1))
		if err == nil {
			_, err = s.write(t.Context(), o, o.next(), nil)
		}
		return err
	},
	"all": func(t *testing.T, f *fakeAPI, c *Coordinator, _ coord.Grant) error {
		t.Helper()
		_, err := c.Quarantine(t.Context(), f.clock.Time())
		return err
	},
	"more slots": func(t *testing.T, _ *fakeAPI, c *Coordinator, _ coord.Grant) error {
		t.Helper()
		return c.Retire(t.Context(), 200)
	},
}

// TestOldCache: etcd is put back to an older state below API servers that go on. Whoever needs their lists is told to start them
// again, rather than try without a word; it goes on by itself when they were.
func TestOldCache(t *testing.T) {
	acquire := func(ctx context.Context, f *fakeAPI, c *Coordinator, _ coord.Grant) error {
		_, err := c.Acquire(ctx, f.request(200))
		return err
	}
	quarantine := func(ctx context.Context, f *fakeAPI, c *Coordinator, _ coord.Grant) error {
		_, err := c.Quarantine(ctx, f.clock.Time().Add(time.Minute))
		return err
	}
	renew := func(ctx context.Context, f *fakeAPI, c *Coordinator, g coord.Grant) error {
		_, err := c.Renew(ctx, g, f.request(1).Until+200)
		return err
	}
	for what, change := range since {
		for name, tc := range map[string]struct {
			other bool // it is another process
			call  func(ctx context.Context, f *fakeAPI, c *Coordinator, g coord.Grant) error
		}{
			"Acquire": {false, acquire}, "Quarantine": {false, quarantine}, "Renew": {false, renew},
			"Acquire of another one": {true, acquire}, "Quarantine of another one": {true, quarantine},
		} {
			t.Run(what+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFakeAPI()
					c := f.open(t)
					g, err := c.Acquire(t.Context(), f.request(200))
					if err != nil {
						t.Fatal(err)
					}
					backup := maps.Clone(f.leases)
					if err := change(t, f, c, g); err != nil {
						t.Fatal(err)
					}
					f.cache, f.leases = f.leases, backup
					if tc.other {
						c = f.open(t)
					}
					underOldCache(t, f, func() error {
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						defer cancel()
						return tc.call(ctx, f, c, g)
					})
				})
			})
		}
	}
}

// underOldCache makes calls until one is done, with API servers that are started again after the first.
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
