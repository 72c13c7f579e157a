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
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/server"
)

// endpoint is a server whose answers a test can change.
type endpoint struct {
	*httptest.Server
	requests atomic.Int64                     // for IDs
	fault    atomic.Pointer[http.HandlerFunc] // instead of an answer; nil: none
}

// serve runs a server with one generator of the back end.
func serve(t *testing.T, f *coordtest.Fake) *endpoint {
	t.Helper()
	g, err := core.New(t.Context(), space{f.Client()}, core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	s, err := server.New(server.Config{Generators: map[string]*core.Generator{"default": g}})
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

// space is a coordinator whose namespace has a nonce.
type space struct{ coord.Coordinator }

func (space) Inspect(context.Context) (coord.Namespace, error) {
	return coord.Namespace{Layout: "x", Nonce: "x"}, nil
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

// two runs two servers of a namespace.
func two(t *testing.T) (a, b *endpoint) {
	t.Helper()
	f := coordtest.NewFake(coordtest.FakeConfig{})
	return serve(t, f), serve(t, f)
}

// stocks are options of a client that has so many IDs, for as long as a slow machine needs.
func stocks(prefetch int) client.Options {
	return client.Options{Prefetch: prefetch, Timeout: time.Minute, MaxAge: time.Hour}
}

// patient waits for as long as a slow machine needs.
var patient = client.Options{Timeout: time.Minute, MaxAge: time.Hour}

// TestUnique: many callers, two servers: no ID comes twice, and one request has many.
func TestUnique(t *testing.T) {
	a, b := two(t)
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
	if n := len(slices.Compact(ids)); n != callers*each && !t.Failed() {
		safetytest.Of(t).Errorf("%d IDs of %d", n, callers*each)
	}
	const most = callers*each/client.DefaultPrefetch + 10 // the first ones ask for fewer
	if na, nb := a.requests.Load(), b.requests.Load(); na == 0 || nb == 0 || na+nb > most {
		t.Errorf("%d and %d requests", na, nb)
	}
}

// TestLostReplies: a server that fails in the middle of replies costs IDs, and no caller sees it.
func TestLostReplies(t *testing.T) {
	a, b := two(t)
	cut := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/proto")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte{18, 1, 'l'}) // a layout
	})
	a.fault.Store(&cut)
	c := newClient(t, stocks(10), a, b)
	seen := map[core.ID]bool{}
	for range 1000 {
		id, err := c.Next()
		if err != nil || seen[id] {
			safetytest.Unless(t, err).Fatalf("%v: %v; twice: %v", id, err, seen[id])
		}
		seen[id] = true
	}
}

// TestOutage: without any server Next fails in time and says why, and has IDs again by itself.
func TestOutage(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}))
	a.fault.Store(says(503))
	c := newClient(t, client.Options{Timeout: 50 * time.Millisecond}, a)
	if _, err := c.Next(); !errors.Is(err, client.ErrUnavailable) ||
		!errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "503 Service Unavailable: not you") {
		t.Errorf("%v", err)
	}
	a.fault.Store(nil)
	if _, err := c.NextContext(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestRefused: what does not pass by itself is said at once.
func TestRefused(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}))
	want := func(o client.Options, says string) {
		t.Helper()
		_, err := newClient(t, o, a).Next()
		if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	want(client.Options{Generator: "none", Timeout: time.Minute},
		"404 Not Found: there is no such generator; known are: default")
	a.fault.Store(&page)
	want(patient, "is this a server of unalike?")
}

// TestToken: the token is sent, and never shown.
func TestToken(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}))
	guard := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret-word" {
			t.Errorf("%q", r.Header)
		}
		http.Error(w, "no", http.StatusForbidden)
	})
	a.fault.Store(&guard)
	_, err := newClient(t, client.Options{Token: "secret-word", Timeout: time.Minute}, a).Next()
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// TestMaxAge: what is too old is dropped, and not used.
func TestMaxAge(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}))
	c := newClient(t, client.Options{MaxAge: time.Millisecond, Timeout: time.Minute}, a)
	last := core.ID(-1)
	for n := 0; a.requests.Load() < 3; n++ {
		id, err := c.Next()
		// With so few used, only age leads to a request.
		if err != nil || id <= last || n > client.DefaultPrefetch/4 {
			safetytest.Unless(t, err).Fatalf("%v after %v, %d requests: %v", id, last, a.requests.Load(),
				err)
		}
		last = id
		time.Sleep(time.Millisecond) // lets it grow old
	}
}

func TestClose(t *testing.T) {
	a := serve(t, coordtest.NewFake(coordtest.FakeConfig{}))
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
	for _, urls := range [][]string{
		nil,
		{""},
		{"host:80"},
		{"ftp://host"},
		{"http://user:secret@host"},
		{"http://host?x=y"},
		{"http://"},
	} {
		_, err := client.New(urls, client.Options{})
		if !errors.Is(err, coord.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", urls, err)
		}
	}
	for _, o := range []client.Options{
		{Prefetch: -1},
		{Prefetch: 1_000_001},
		{MaxAge: -1},
		{Timeout: -1},
		{Token: "secret", TokenFile: "/none"},
		{TokenFile: "/none"},
		{CA: "/none"},
		{Cert: "/none"},
		{CA: "/none", HTTP: http.DefaultClient},
	} {
		_, err := client.New([]string{"http://host"}, o)
		if !errors.Is(err, coord.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
