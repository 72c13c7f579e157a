package kubernetes_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// link counts the requests of a coordinator, but for watches, and has something done before
// one of them.
type link struct {
	mu    sync.Mutex
	count int
	at    int // the request before which act is called; 0: none
	act   func()
}

// around implements the function of kubetest.Server.Client.
func (l *link) around(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "" {
		return next.RoundTrip(r)
	}
	l.mu.Lock()
	l.count++
	act := func() {}
	if l.count == l.at {
		act, l.at = l.act, 0
	}
	l.mu.Unlock()
	act()
	return next.RoundTrip(r)
}

// before has act called before the n-th request from now on.
func (l *link) before(n int, act func()) (acted func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count, l.at, l.act = 0, n, act
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.at == 0
	}
}

// counted returns how many requests were made since the last call.
func (l *link) counted() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, l.count = l.count, 0
	return n
}

// linked returns a coordinator and its link.
func (c *cluster) linked(tb testing.TB, ns string) (*kubernetes.Coordinator, *link) {
	tb.Helper()
	l := &link{}
	return c.with(tb, c.Client(tb, "", l.around), ns, kubernetes.Options{}), l
}

// TestBetween: something happens between two requests of one operation.
func TestBetween(t *testing.T) {
	c := newCluster(t)
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		tb.Helper()
		links := map[coord.Coordinator]*link{}
		ns, h := c.harness(func(tb testing.TB, ns string) coord.Coordinator {
			tb.Helper()
			k, l := c.linked(tb, ns)
			links[k] = l
			return k
		})
		return coordtest.BetweenHarness{
			Harness: h,
			Lose: func(tb testing.TB) func() {
				tb.Helper()
				return kubernetes.Backup(tb, c.client, c.URL, ns, c.in)
			},
			// In make test something happens before the first requests, and then before some: each has a
			// namespace made for it.
			Before: func(_ testing.TB, k coord.Coordinator, n int, act func()) func() bool {
				return links[k].before(n+max(n-6, 0)*fulltest.Rounds(6, 0), act)
			},
		}
	})
}
