package kubernetes_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestRequests: how many requests operations make does not depend on how many worker IDs are
// held.
func TestRequests(t *testing.T) {
	c := newCluster(t)
	ns := rand.Text()
	holder, l := c.linked(t, ns)
	if err := holder.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	all := drivertest.Crowd[*kubernetes.Coordinator]{Namespace: ns, Members: []*kubernetes.Coordinator{c.new(t, ns, kubernetes.Options{})}}
	held, most := 0, fulltest.Rounds(40, 1000)
	for _, more := range []int{0, most / 2, most - most/2} {
		if held += more; more > 0 {
			all.Acquire(t, more, 16)
		}
		for range 3 {
			l.counted()
			req := drivertest.Request(drivertest.Capacity)
			g := drivertest.MustAcquire(t, holder, req)
			if n := l.counted(); n != 5 && n != 3 { // it makes a Lease, or takes one that is free
				t.Errorf("Acquire with %d held makes %d requests; want 5, or 3 the second time that a worker ID is used", held, n)
			}
			g, err := holder.Renew(drivertest.Within(t), g, g.NotAfter+100)
			if n := l.counted(); err != nil || n != 2 {
				t.Errorf("Renew with %d held makes %d requests, %v; want 2", held, n, err)
			}
			if err := holder.Release(drivertest.Within(t), g, g.NotBefore); err != nil || l.counted() != 1 {
				t.Errorf("Release with %d held makes more than one request: %v", held, err)
			}
		}
	}
}

// TestCrowd: as many start at once as there are worker IDs, in a namespace that nobody has used.
func TestCrowd(t *testing.T) {
	c := newCluster(t)
	n, ns := fulltest.Rounds(96, drivertest.Capacity), rand.Text()
	all := drivertest.Crowd[coord.Coordinator]{Namespace: ns}
	var links []*link
	for range 16 {
		k, l := c.linked(t, ns)
		all.Members, links = append(all.Members, k), append(links, l)
	}
	began := time.Now()
	defer func() {
		sum, verbs := 0, map[string]int{}
		for _, l := range links {
			for verb, count := range l.verbs {
				sum, verbs[verb] = sum+count, verbs[verb]+count
			}
		}
		t.Logf("%d starters: %v, %d requests: %v", n, time.Since(began), sum, verbs)
	}()
	all.Acquire(t, n, n)
	drivertest.Contention(t, c.new(t, rand.Text(), kubernetes.Options{}))
}

// TestBusy: an API server that has too much to do says when to come again, and has done nothing.
func TestBusy(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var mu sync.Mutex
	busy := 0
	client := c.Client(t, "", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if busy == 0 {
			return next.RoundTrip(r)
		}
		busy--
		return &http.Response{
			StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
			Body: io.NopCloser(bytes.NewReader([]byte(`{"kind":"Status","message":"too many requests"}`))), Request: r,
		}, nil
	})
	k := c.with(t, client, rand.Text(), kubernetes.Options{})
	g := drivertest.MustAcquire(t, k, drivertest.Request(1))
	mu.Lock()
	busy = 2
	mu.Unlock()
	r, err := k.Renew(drivertest.Within(t), g, g.NotAfter+100)
	if err != nil || r.NotAfter != g.NotAfter+100 {
		t.Errorf("Renew with an API server that is busy: %v, %v", r, err)
	}
	mu.Lock()
	busy = 100
	mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if _, err := k.Renew(ctx, r, r.NotAfter+100); err == nil || errors.Is(err, coord.ErrLeaseLost) || errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Renew with an API server that stays busy: %v", err)
	}
}
