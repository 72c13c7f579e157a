package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/server"
)

// endpoint is a server whose answers a test can change.
type endpoint struct {
	*httptest.Server
	requests atomic.Int64                     // for IDs
	fault    atomic.Pointer[http.HandlerFunc] // instead of an answer; nil: none
}

// serve runs a server with one generator of the back end.
func serve(t *testing.T, f *coordtest.Fake, namespace string) *endpoint {
	t.Helper()
	g, err := core.New(t.Context(), f.Client(), core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	s, err := server.New(server.Config{Generators: map[string]server.Generator{"default": inSpace{g, spaceOf(namespace)}}})
	if err != nil {
		t.Fatal(err)
	}
	e := new(endpoint)
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/Generate") {
			e.requests.Add(1)
		}
		if fault := e.fault.Load(); fault != nil {
			(*fault)(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

// inSpace is a generator with another coordinator.
type inSpace struct {
	*core.Generator
	c coord.Coordinator
}

func (g inSpace) Coordinator() coord.Coordinator { return g.c }

// spaceOf is a coordinator that has a nonce.
func spaceOf(nonce string) coord.Coordinator { return space{nonce: nonce} }

type space struct {
	coord.Coordinator
	nonce string
}

func (s space) Inspect(context.Context) (coord.Namespace, error) {
	return coord.Namespace{Layout: "x", Nonce: s.nonce}, nil
}

func newClient(t *testing.T, o client.Options, all ...*endpoint) *client.Client {
	t.Helper()
	var urls []string
	for _, e := range all {
		urls = append(urls, e.URL)
	}
	c, err := client.New(urls, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.StartAt(0)
	return c
}

// patient waits for as long as a slow machine needs.
var patient = client.Options{Timeout: time.Minute, MaxAge: time.Hour}

// TestUnique: many callers, two servers: no ID comes twice, and one request has many.
func TestUnique(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	a, b := serve(t, f, "x"), serve(t, f, "x")
	c := newClient(t, patient, a, b)
	const callers, each = 4, 20_000
	all := make([][]core.ID, callers)
	var work sync.WaitGroup
	for i := range callers {
		work.Go(func() {
			all[i] = make([]core.ID, each)
			if n, err := c.Fill(t.Context(), all[i]); err != nil {
				t.Errorf("after %d: %v", n, err)
			}
		})
	}
	work.Wait()
	ids := slices.Sorted(slices.Values(slices.Concat(all...)))
	if n := len(slices.Compact(ids)); n != callers*each {
		t.Errorf("%d IDs of %d", n, callers*each)
	}
	if na, nb := a.requests.Load(), b.requests.Load(); na == 0 || nb == 0 || na+nb > callers*each/client.DefaultPrefetch+10 { // the first ones ask for fewer
		t.Errorf("%d and %d requests", na, nb)
	}
}

// TestLostReplies: a server that fails in the middle of replies costs IDs, and no caller sees it.
func TestLostReplies(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	a, b := serve(t, f, "x"), serve(t, f, "x")
	cut := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/proto")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte{18, 1, 'l'}) // a layout
	})
	a.fault.Store(&cut)
	c := newClient(t, client.Options{Prefetch: 10, Timeout: time.Minute, MaxAge: time.Hour}, a, b)
	seen := map[core.ID]bool{}
	for range 1000 {
		id, err := c.Next()
		if err != nil || seen[id] {
			t.Fatalf("%v: %v; twice: %v", id, err, seen[id])
		}
		seen[id] = true
	}
}

// TestOutage: without any server Next fails in time and says why, and has IDs again by itself.
func TestOutage(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}), "x")
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not now", http.StatusServiceUnavailable) })
	a.fault.Store(&away)
	c := newClient(t, client.Options{Timeout: 50 * time.Millisecond}, a)
	if _, err := c.Next(); !errors.Is(err, client.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "503 Service Unavailable: not now") {
		t.Errorf("%v", err)
	}
	a.fault.Store(nil)
	if _, err := c.NextContext(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestRefused: what does not pass by itself is said at once.
func TestRefused(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}), "x")
	const want = "404 Not Found: there is no such generator; known are: default"
	if _, err := newClient(t, client.Options{Generator: "none", Timeout: time.Minute}, a).Next(); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	other := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	a.fault.Store(&other)
	if _, err := newClient(t, patient, a).Next(); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "is this a server of unalike?") {
		t.Errorf("another server: %v", err)
	}
}

// TestToken: the token is sent, and never shown.
func TestToken(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}), "x")
	guard := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret-word" {
			t.Errorf("%q", r.Header)
		}
		http.Error(w, "no", http.StatusForbidden)
	})
	a.fault.Store(&guard)
	if _, err := newClient(t, client.Options{Token: "secret-word", Timeout: time.Minute}, a).Next(); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// TestMaxAge: what is too old is dropped, and not used.
func TestMaxAge(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}), "x")
	c := newClient(t, client.Options{MaxAge: time.Millisecond, Timeout: time.Minute}, a)
	last := core.ID(-1)
	for n := 0; a.requests.Load() < 3; n++ {
		id, err := c.Next()
		if err != nil || id <= last || n > client.DefaultPrefetch/4 { // with so few used, only age leads to a request
			t.Fatalf("%v after %v, %d requests: %v", id, last, a.requests.Load(), err)
		}
		last = id
		time.Sleep(time.Millisecond) // lets it grow old
	}
}

func TestClose(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}), "x")
	c := newClient(t, client.Options{}, a)
	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Next(); !errors.Is(err, client.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for _, urls := range [][]string{nil, {""}, {"host:80"}, {"ftp://host"}, {"http://user:secret@host"}, {"http://host?x=y"}, {"http://"}} {
		if _, err := client.New(urls, client.Options{}); !errors.Is(err, client.ErrInvalidConfig) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", urls, err)
		}
	}
	for _, o := range []client.Options{{Prefetch: -1}, {Prefetch: 1_000_001}, {MaxAge: -1}, {Timeout: -1}} {
		if _, err := client.New([]string{"http://host"}, o); !errors.Is(err, client.ErrInvalidConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
