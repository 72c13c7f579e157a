package kubernetes_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// link counts the requests of a coordinator, but for watches, and has something done before
// one of them.
type link struct {
	calls sync.RWMutex // held while a request is made, and alone by act

	mu    sync.Mutex
	count int
	verbs map[string]int
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
	if l.verbs == nil {
		l.verbs = map[string]int{}
	}
	l.verbs[r.Method]++
	var act func()
	if l.count == l.at {
		act, l.at = l.act, 0
	}
	l.mu.Unlock()
	if act != nil {
		l.alone(act)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	l.calls.RLock()
	defer l.calls.RUnlock()
	return next.RoundTrip(r)
}

// alone calls act while no request is under way. Act may end this goroutine, if the test has failed.
func (l *link) alone(act func()) {
	l.calls.Lock()
	defer l.calls.Unlock()
	act()
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
		ns, links := rand.Text(), map[coord.Coordinator]*link{}
		return coordtest.BetweenHarness{
			Harness: coordtest.Harness{
				Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
					tb.Helper()
					k, l := c.linked(tb, ns)
					links[k] = l
					return k
				},
				Expire: func(tb testing.TB, g coord.Grant) {
					tb.Helper()
					kubernetes.Expire(tb, c.client, c.URL, ns, c.in, g.WorkerID)
				},
				RaiseFloor: func(tb testing.TB, tick int64) {
					tb.Helper()
					drivertest.RaiseFloor(tb, c.new(tb, ns, kubernetes.Options{}), tick)
				},
				Sticky: true,
			},
			Lose: func(tb testing.TB) func() {
				tb.Helper()
				return kubernetes.Backup(tb, c.client, c.URL, ns, c.in)
			},
			// In make test something happens before the first requests, and then before some: each has a namespace made for it.
			Before: func(_ testing.TB, k coord.Coordinator, n int, act func()) func() bool {
				return links[k].before(n+max(n-6, 0)*fulltest.Rounds(6, 0), act)
			},
		}
	})
}

// floorIn is a floor that is above all windows of a test.
func floorIn(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Millisecond) }

// doing is what is done before a request of a raiser.
type doing func(ctx context.Context, die func(), holder, other *kubernetes.Coordinator, g coord.Grant)

// atEach does something before each of the requests of a raiser.
func atEach(t *testing.T, c *cluster, act doing) {
	t.Helper()
	n := 1
	for raise(t, c, n, act) {
		n++
	}
	if n < 3 {
		t.Errorf("a raiser has made %d requests", n-1)
	}
}

// TestRaiser: while a floor is raised, a holder renews or releases, or a newcomer acquires, before each of
// the requests. When the floor is raised, nothing is granted or extended below it, whatever its
// holder has read before.
func TestRaiser(t *testing.T) {
	c := newCluster(t)
	for name, act := range map[string]doing{
		"renewal": func(ctx context.Context, _ func(), holder, _ *kubernetes.Coordinator, g coord.Grant) {
			_, _ = holder.Renew(ctx, g, g.NotAfter+100)
		},
		"grant": func(ctx context.Context, _ func(), _, other *kubernetes.Coordinator, _ coord.Grant) {
			_, _ = other.Acquire(ctx, drivertest.Request(4))
		},
		"release": func(ctx context.Context, _ func(), holder, _ *kubernetes.Coordinator, g coord.Grant) {
			_ = holder.Release(ctx, g, g.NotBefore)
		},
	} {
		t.Run(name, func(t *testing.T) { atEach(t, c, act) })
	}
}

// TestRaiserDies: a raiser dies before each of its requests, and another one, which would change
// nothing, finishes what it has begun.
func TestRaiserDies(t *testing.T) {
	atEach(t, newCluster(t), func(_ context.Context, die func(), _, _ *kubernetes.Coordinator, _ coord.Grant) { die() })
}

// raise is one round; it reports whether the raiser made so many requests.
func raise(t *testing.T, c *cluster, n int, act doing) bool {
	t.Helper()
	ns := rand.Text()
	holder, other := c.new(t, ns, kubernetes.Options{}), c.new(t, ns, kubernetes.Options{})
	g := drivertest.MustAcquire(t, holder, drivertest.Request(4))
	second := drivertest.MustAcquire(t, other, drivertest.Request(4))
	raiser, l := c.linked(t, ns)
	ctx, die := context.WithCancel(drivertest.Within(t))
	defer die()
	acted := l.before(n, func() { act(t.Context(), die, holder, other, g) })
	floor := floorIn(time.Minute)
	if _, err := raiser.Quarantine(ctx, floor); err != nil {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Quarantine with something before request %d: %v", n, err)
		}
		// What it would change may be there, and is not done.
		if _, err := c.new(t, ns, kubernetes.Options{}).Quarantine(drivertest.Within(t), floor); err != nil {
			t.Fatal(err)
		}
	}
	tick := drivertest.Scale().Tick(floor.UnixMicro())
	for k, old := range map[*kubernetes.Coordinator]coord.Grant{holder: g, other: second} {
		if r, err := k.Renew(drivertest.Within(t), old, tick+5000); err == nil && r.NotAfter > old.NotAfter+100 && r.NotBefore < tick {
			t.Errorf("Renew of %v after the floor was raised to %d, with something before request %d: %v", old, tick, n, r)
		}
	}
	req := drivertest.Request(4)
	req.Until = tick + 5000
	if r, err := c.new(t, ns, kubernetes.Options{}).Acquire(drivertest.Within(t), req); err == nil && r.NotBefore < tick {
		t.Errorf("Acquire after the floor was raised to %d, with something before request %d: %v", tick, n, r)
	}
	if behind := kubernetes.Behind(t, c.client, c.URL, ns, c.in); behind != "" {
		t.Errorf("with something before request %d: %s", n, behind)
	}
	return acted()
}
