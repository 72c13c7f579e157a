//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

const (
	// restartDrain is the time that a balancer has to see that an instance stops: much, because the
	// machine may be busy.
	restartDrain = 2 * time.Second
	// probeEvery is how often the balancer looks at an instance.
	probeEvery = 50 * time.Millisecond
	// loaders send requests, one after the other each.
	loaders = 4
)

// balancer is a proxy that sends requests to the instances whose /readyz says so, in turn.
type balancer struct {
	*httptest.Server
	transport *http.Transport
	turn      atomic.Uint64

	mu  sync.Mutex
	all []*member
}

// member is an instance behind a balancer.
type member struct {
	url   *url.URL
	ready bool
}

// newBalancer returns a balancer without instances. A request that cannot be answered fails the test.
func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{transport: &http.Transport{MaxIdleConnsPerHost: 2 * loaders}}
	b.Server = httptest.NewServer(&httputil.ReverseProxy{
		Transport: b.transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(b.pick()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var probing sync.WaitGroup
	probing.Go(func() { b.probe(ctx) })
	t.Cleanup(func() {
		b.Close()
		cancel()
		probing.Wait()
		b.transport.CloseIdleConnections()
	})
	return b
}

// pick returns the next instance that is ready, or none that exists.
func (b *balancer) pick() *url.URL {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.all {
		if m := b.all[b.turn.Add(1)%uint64(len(b.all))]; m.ready {
			return m.url
		}
	}
	return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
}

// probe asks the instances from time to time whether they are ready.
func (b *balancer) probe(ctx context.Context) {
	for pauseFor(ctx, probeEvery) {
		b.mu.Lock()
		all := append([]*member(nil), b.all...)
		b.mu.Unlock()
		for _, m := range all {
			ready := isReady(ctx, b.transport, m.url)
			b.mu.Lock()
			m.ready = ready
			b.mu.Unlock()
		}
	}
}

// isReady asks an instance whether it is ready.
func isReady(ctx context.Context, transport http.RoundTripper, u *url.URL) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("readyz").String(), http.NoBody)
	if err != nil {
		return false
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	return resp.StatusCode == http.StatusOK
}

// put puts an instance at a place, and waits until requests are sent to it.
func (b *balancer) put(t *testing.T, at int, s *served) {
	t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{url: u}
	b.mu.Lock()
	if at < len(b.all) {
		b.all[at] = m
	} else {
		b.all = append(b.all, m)
	}
	b.mu.Unlock()
	for end := time.Now().Add(time.Minute); ; pauseFor(t.Context(), probeEvery) {
		b.mu.Lock()
		ready := m.ready
		b.mu.Unlock()
		if ready {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it is not ready\n%s", s.stderr.String())
		}
	}
}

// load asks for IDs until stop is true: in the full length of the test as fast as they come.
func (b *balancer) load(t *testing.T, stop *atomic.Bool, issued *atomic.Int64, y *tally) {
	count, pause := fulltest.Rounds(500, 10_000), time.Duration(fulltest.Rounds(10, 0))*time.Millisecond
	client := b.Client()
	for ; !stop.Load(); pauseFor(t.Context(), pause) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/v1/generators/default/ids?count="+strconv.Itoa(count), http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Accept", "text/plain")
		resp, err := client.Do(req)
		if err != nil {
			t.Errorf("a request failed: %v", err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("a request failed: %s %.300s %v", resp.Status, body, err)
			return
		}
		if err := y.addLines(string(body), count); err != nil {
			t.Error(err)
			return
		}
		issued.Add(int64(count))
	}
}

// TestServeRollingRestart: two instances are restarted one after the other behind a balancer that
// obeys /readyz, at full load. No request fails, no ID comes twice, and those of a worker ID rise.
func TestServeRollingRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	launch := func(worker int) *served {
		state := filepath.Join(dir, strconv.Itoa(worker))
		return startServe(t, "--coordinator", fmt.Sprintf("static://?worker=%d&state=%s&fresh=true", worker, state), "--drain", restartDrain.String())
	}
	b := newBalancer(t)
	instances := []*served{launch(7), launch(8)}
	for at, s := range instances {
		b.put(t, at, s)
	}
	var stop atomic.Bool
	var issued atomic.Int64
	var all tallies
	var load sync.WaitGroup
	defer load.Wait()
	defer stop.Store(true) // after a Fatal
	for range loaders {
		y := all.another()
		load.Go(func() { b.load(t, &stop, &issued, y) })
	}
	for round := range fulltest.Rounds(3, 20) {
		at, before := round%2, issued.Load()
		instances[at].stop()
		instances[at] = launch(7 + at)
		b.put(t, at, instances[at])
		if issued.Load() == before {
			t.Errorf("round %d: no IDs were issued", round)
		}
	}
	for issued.Load() < int64(fulltest.Rounds(0, 100_000_000)) && !t.Failed() {
		pauseFor(t.Context(), probeEvery)
	}
	stop.Store(true)
	load.Wait()
	t.Logf("%d IDs", all.check(t))
}
