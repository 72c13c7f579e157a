package kubernetes

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// between is a network that does something with each request.
type between func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (b between) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

// TestTwice: a proxy repeats each write, and passes the second answer on, which refuses what the
// first one has done. It is done all the same.
func TestTwice(t *testing.T) {
	f := newFakeAPI()
	k := f.openBy(t, between(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return f.RoundTrip(r)
		}
		first := r.Clone(r.Context())
		first.Body, _ = r.GetBody()
		if _, err := f.RoundTrip(first); err != nil {
			return nil, err
		}
		return f.RoundTrip(r)
	}))
	g := f.grantOf(t, k, 0, 4)
	r, err := k.Renew(t.Context(), g, g.NotAfter+100)
	if err != nil || r.NotBefore != g.NotBefore || r.NotAfter != g.NotAfter+100 {
		t.Errorf("Renew of %v: %v, %v", g, r, err)
	}
	_, raised := k.Quarantine(t.Context(), f.clock.Time().Truncate(time.Millisecond))
	err = errors.Join(raised, k.Retire(t.Context(), 3-r.WorkerID),
		k.Release(t.Context(), r, r.NotBefore))
	if err != nil {
		t.Error(err)
	}
}

// TestRetiredUnmarked: the mark of a worker ID that is retired is lost on its way. The next
// acquisition makes it.
func TestRetiredUnmarked(t *testing.T) {
	const retired = 3
	var loses atomic.Bool
	f := newFakeAPI()
	k := f.openBy(t, between(func(r *http.Request) (*http.Response, error) {
		if loses.Load() && r.Method == http.MethodPatch && strings.Contains(r.URL.Path, ".used-") {
			return nil, errors.New("lost")
		}
		return f.RoundTrip(r)
	}))
	if err := k.Init(t.Context(), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	loses.Store(true)
	if err := k.Retire(t.Context(), retired); err == nil {
		t.Fatal("nothing was lost")
	}
	loses.Store(false)
	f.grantOf(t, k, 0, retired+1)
	marks := f.leases[SlotName("orders", -1)+".used-0"]
	if marks.marked(retired) == "" {
		t.Errorf("%+v; want a mark of worker ID %d", marks, retired)
	}
}
