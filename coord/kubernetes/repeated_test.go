package kubernetes_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestTwice: a proxy repeats each write, and passes the second answer on, which refuses what the
// first one has done. It is done all the same.
func TestTwice(t *testing.T) {
	c := newCluster(t)
	k := c.with(t, c.Client(t, "",
		func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return next.RoundTrip(r)
			}
			first := r.Clone(r.Context())
			var err error
			if first.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
			resp, err := next.RoundTrip(first)
			if err != nil {
				return nil, err
			}
			_ = resp.Body.Close()
			return next.RoundTrip(r)
		}), "orders", kubernetes.Options{})
	g := drivertest.MustAcquire(t, k, drivertest.Request(4))
	r, err := k.Renew(drivertest.Within(t), g, g.NotAfter+100)
	if err != nil || r.NotBefore != g.NotBefore || r.NotAfter != g.NotAfter+100 {
		t.Errorf("Renew of %v: %v, %v", g, r, err)
	}
	_, raised := k.Quarantine(drivertest.Within(t), floorIn(0))
	err = errors.Join(raised, k.Retire(drivertest.Within(t), 3-r.WorkerID),
		k.Release(drivertest.Within(t), r, r.NotBefore))
	if err != nil {
		t.Error(err)
	}
}

// TestRetiredUnmarked: the mark of a worker ID that is retired is lost on its way. The next
// acquisition makes it.
func TestRetiredUnmarked(t *testing.T) {
	const retired = 3
	c := newCluster(t)
	var loses atomic.Bool
	k := c.with(t, c.Client(t, "",
		func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if loses.Load() && r.Method == http.MethodPatch && strings.Contains(r.URL.Path, ".used-") {
				return nil, errors.New("lost")
			}
			return next.RoundTrip(r)
		}), "orders", kubernetes.Options{})
	if err := k.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	loses.Store(true)
	if err := k.Retire(drivertest.Within(t), retired); err == nil {
		t.Fatal("nothing was lost")
	}
	loses.Store(false)
	drivertest.MustAcquire(t, k, drivertest.Request(retired+1))
	marks := "/apis/coordination.k8s.io/v1/namespaces/" + c.in + "/leases/" + kubernetes.SlotName("orders", -1) + ".used-0"
	if code, b := c.Do(http.MethodGet, marks, "", nil); code != http.StatusOK ||
		!strings.Contains(string(b), `"unalike/used-3"`) {
		t.Errorf("status %d: %s; want a mark of worker ID %d", code, b, retired)
	}
}
