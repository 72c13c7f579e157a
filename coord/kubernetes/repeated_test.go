package kubernetes_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// network is a network that does something with each request.
type network struct {
	around func(*http.Request, http.RoundTripper) (*http.Response, error)
	http.RoundTripper
}

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	return n.around(r, n.RoundTripper)
}

// apart runs a test with an API server in this process, and with a real one, each behind a network.
func apart(
	t *testing.T, around func(*http.Request, http.RoundTripper) (*http.Response, error),
	test func(t *testing.T, k *kubernetes.Coordinator, get func(lease string) string),
) {
	t.Helper()
	run := func(t *testing.T, client *http.Client, url, in string) {
		t.Helper()
		k, err := kubernetes.New(client, url, "orders", kubernetes.Options{In: in})
		test(t, drivertest.Closing(t, k, err), func(lease string) string {
			resp, err := client.Get(url + "/apis/coordination.k8s.io/v1/namespaces/" + in + "/leases/" +
				lease)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			return resp.Status + " " + string(b)
		})
	}
	t.Run("in this process", func(t *testing.T) {
		run(t, &http.Client{Transport: network{around, kubernetes.Fake()}}, "http://h", "shop")
	})
	t.Run("a real one", func(t *testing.T) {
		c := newCluster(t)
		run(t, c.Client(t, "", around), c.URL, c.in)
	})
}

// TestTwice: a proxy repeats each write, and passes the second answer on, which refuses what the
// first one has done. It is done all the same.
func TestTwice(t *testing.T) {
	apart(t, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
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
	}, func(t *testing.T, k *kubernetes.Coordinator, _ func(string) string) {
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
	})
}

// TestRetiredUnmarked: the mark of a worker ID that is retired is lost on its way. The next
// acquisition makes it.
func TestRetiredUnmarked(t *testing.T) {
	const retired = 3
	var loses atomic.Bool
	apart(t, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if loses.Load() && r.Method == http.MethodPatch && strings.Contains(r.URL.Path, ".used-") {
			return nil, errors.New("lost")
		}
		return next.RoundTrip(r)
	}, func(t *testing.T, k *kubernetes.Coordinator, get func(string) string) {
		if err := k.Init(drivertest.Within(t), drivertest.Space()); err != nil {
			t.Fatal(err)
		}
		loses.Store(true)
		if err := k.Retire(drivertest.Within(t), retired); err == nil {
			t.Fatal("nothing was lost")
		}
		loses.Store(false)
		drivertest.MustAcquire(t, k, drivertest.Request(retired+1))
		if got := get(kubernetes.SlotName("orders", -1) + ".used-0"); !strings.Contains(got,
			`"unalike/used-3"`) {
			t.Errorf("%s; want a mark of worker ID %d", got, retired)
		}
	})
}
