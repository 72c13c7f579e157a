//go:build unix

package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// attempts counts the requests of a client, and how many of them failed one after the other.
type attempts struct {
	next      http.RoundTripper
	succeeded map[string]*atomic.Int64 // by server
	inARow    atomic.Int64
	worst     atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		a.fail()
		return resp, err
	}
	resp.Body = &watchedBody{resp.Body, a, a.succeeded[r.URL.Host]}
	return resp, nil
}

func (a *attempts) fail() { a.worst.Store(max(a.worst.Load(), a.inARow.Add(1))) }

// watchedBody is a body that may end in the middle.
type watchedBody struct {
	io.ReadCloser
	a         *attempts
	succeeded *atomic.Int64
}

// Read implements io.Reader.
func (w *watchedBody) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		w.a.inARow.Store(0)
		w.succeeded.Add(1)
	case err != nil:
		w.a.fail()
	}
	return n, err
}

// caller is a client that takes IDs all the time.
type caller struct {
	client   *client.Client
	attempts *attempts
}

// newCaller returns a client of two servers.
func newCaller(t *testing.T, urls []string) *caller {
	t.Helper()
	transport := &http.Transport{}
	c := &caller{attempts: &attempts{next: transport, succeeded: map[string]*atomic.Int64{}}}
	for _, u := range urls {
		c.attempts.succeeded[strings.TrimPrefix(u, "http://")] = &atomic.Int64{}
	}
	var err error
	c.client, err = client.New(urls, client.Options{HTTP: &http.Client{Transport: c.attempts}, Prefetch: 500, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.client.Close() // nothing is left to lose
		transport.CloseIdleConnections()
	})
	return c
}

// take takes IDs until stop is true: in the full length of the test as fast as they come.
func (c *caller) take(t *testing.T, stop *atomic.Bool, y *tally) {
	pause := time.Duration(fulltest.Rounds(10, 0)) * time.Millisecond
	for ; !stop.Load(); pauseFor(t.Context(), pause) {
		for range 1000 {
			id, err := c.client.Next()
			if err == nil {
				err = y.add(id)
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// goOn waits until a client had replies of a server that it has asked for after the call: a server
// that was not ready has told it to come again in a second.
func (c *caller) goOn(t *testing.T, url string) {
	t.Helper()
	succeeded := c.attempts.succeeded[strings.TrimPrefix(url, "http://")]
	before, end := succeeded.Load(), time.Now().Add(time.Minute)
	for ; succeeded.Load() < before+2; pauseFor(t.Context(), 5*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a client has no replies")
		}
	}
}

// TestServeKilled: one of two servers is killed with SIGKILL and started again, again and again. Their clients see no
// error, because the next attempt, at the other server, succeeds; and no ID comes twice.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	at := "etcd://" + strings.TrimPrefix(etcd.Endpoint, "http://") + "/killed"
	var servers []*served
	var urls []string
	launch := func(addr string) *served {
		s := startServe(t, "--listen", addr, "--coordinator", at)
		s.await("/readyz", "", isOK)
		return s
	}
	for _, port := range proctest.FreePorts(t, 2) {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		servers = append(servers, launch(addr))
		urls = append(urls, "http://"+addr)
	}
	var stop atomic.Bool
	var all tallies
	var work sync.WaitGroup
	defer work.Wait()
	defer stop.Store(true) // after a Fatal
	var callers []*caller
	for range 4 {
		c, y := newCaller(t, urls), all.another()
		callers = append(callers, c)
		work.Go(func() { c.take(t, &stop, y) })
	}
	for round := range fulltest.Rounds(2, 200) {
		for _, c := range callers {
			c.goOn(t, urls[(round+1)%2]) // nobody is at an attempt any more that has failed at the other server
		}
		i := round % 2
		if err := servers[i].cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = servers[i].cmd.Wait() // it was killed
		servers[i] = launch(strings.TrimPrefix(urls[i], "http://"))
	}
	for _, c := range callers {
		c.goOn(t, urls[0])
	}
	stop.Store(true)
	work.Wait()
	for _, c := range callers {
		if n := c.attempts.worst.Load(); n > 1 {
			t.Errorf("%d attempts failed one after the other", n)
		}
	}
	for _, s := range servers {
		s.stop()
	}
	t.Logf("%d IDs", all.check(t))
}
