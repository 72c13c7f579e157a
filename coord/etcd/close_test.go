package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// watchers counts the goroutines that watch owner keys.
func watchers() int { return running("coord/etcd.(*session).Watch(") }

// running counts a function in the stacks of all goroutines.
func running(function string) int {
	b := make([]byte, 4<<20)
	return strings.Count(string(b[:runtime.Stack(b, true)]), function)
}

// TestWatchersEnd: there is one watcher a grant, and Release, a hint and Close end
// it.
func TestWatchersEnd(t *testing.T) {
	server := etcdtest.Start(t)
	operator, ns := server.Client(t), rand.Text()
	c := newCoordinator(t, server.Client(t), ns, nil)
	var grants []coord.Grant
	for range 3 {
		g := mustAcquire(t, c, request(capacity))
		hint := c.Lost(g)
		g, err := c.Renew(within(t), g, g.NotAfter+1000)
		if err != nil {
			t.Fatal(err)
		}
		if c.Lost(g) != hint {
			t.Error("a renewal made another watcher")
		}
		grants = append(grants, g)
	}
	counts := func(n int) func() bool { return func() bool { return watchers() == n } }
	streamtest.Eventually(t, "three watchers run", counts(3))
	if err := c.Release(within(t), grants[0], grants[0].NotBefore); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "Release ends one", counts(2))
	hint := c.Lost(grants[1])
	endLease(t, operator, ns, grants[1].WorkerID)
	select {
	case <-hint:
	case <-time.After(callTime):
		t.Fatal("no hint")
	}
	streamtest.Eventually(t, "the hint ends one", counts(1))
	if err := c.Retire(within(t), grants[2].WorkerID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Renew(within(t), grants[2], grants[2].NotAfter); !errors.Is(err, coord.ErrLeaseLost) {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "knowing it is lost ends one", counts(0))
	last := mustAcquire(t, c, request(capacity))
	c.Lost(last)
	streamtest.Eventually(t, "one watcher runs", counts(1))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "Close ends the last", counts(0))
	select {
	case <-c.Lost(last):
		t.Error("a closed coordinator gives a hint")
	default:
	}
}

// TestHintWhenRetired: a holder is told that its worker ID was retired, whether it watches by
// then or not, although the owner key is still there.
func TestHintWhenRetired(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	operator := newCoordinator(t, server.Client(t), ns, nil)
	c := newCoordinator(t, server.Client(t), ns, nil)
	wantHint := func(g coord.Grant, hint <-chan struct{}) {
		t.Helper()
		select {
		case <-hint:
		case <-time.After(callTime):
			t.Fatalf("there is no hint that the worker ID of %v was retired", g)
		}
		if _, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew: %v; want %v", err, coord.ErrLeaseLost)
		}
	}
	g, late := mustAcquire(t, c, request(capacity)), mustAcquire(t, c, request(capacity))
	hint := c.Lost(g)
	streamtest.Eventually(t, "the owner key was looked at and is watched", func() bool { return running("(*watchGRPCStream).serveSubstream(") == 1 })
	for _, id := range []int{g.WorkerID, late.WorkerID} {
		if err := operator.Retire(within(t), id); err != nil {
			t.Fatal(err)
		}
	}
	wantHint(g, hint)
	wantHint(late, c.Lost(late))
}

// TestWatchGoesOn: a watch whose connection breaks is taken up again, and what was
// missed meanwhile is noticed.
func TestWatchGoesOn(t *testing.T) {
	server := etcdtest.Start(t)
	operator, ns := server.Client(t), rand.Text()
	proxy := proxytest.Start(t, server.Endpoint)
	c := newCoordinator(t, etcdtest.Connect(t, []string{proxy.Addr}), ns, nil)
	g := mustAcquire(t, c, request(1))
	hint := c.Lost(g)
	proxy.Refuse()
	endLease(t, operator, ns, g.WorkerID)
	proxy.Heal()
	select {
	case <-hint:
	case <-time.After(callTime):
		t.Fatal("no hint after the connection was broken")
	}
}

// TestCloseEndsCalls: calls that wait for an answer end with Close, and with their
// contexts.
func TestCloseEndsCalls(t *testing.T) {
	server := etcdtest.Start(t)
	proxy := proxytest.Start(t, server.Endpoint)
	client := etcdtest.Connect(t, []string{proxy.Addr})
	c, err := etcd.New(client, rand.Text(), etcd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := mustAcquire(t, c, request(1))
	proxy.Hang()
	for _, end := range []string{"context", "Close"} {
		ctx, cancel := context.WithCancel(within(t))
		results := make(chan error, 3)
		go func() { _, err := c.Acquire(ctx, request(2)); results <- err }()
		go func() { _, err := c.Renew(ctx, g, g.NotAfter+1000); results <- err }()
		go func() { results <- c.Release(ctx, g, g.NotBefore) }()
		want := context.Canceled
		if end == "Close" {
			want = coord.ErrClosed
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		} else {
			cancel()
		}
		for range 3 {
			select {
			case err := <-results:
				if !errors.Is(err, want) {
					t.Errorf("a call that was ended by its %s: %v; want %v", end, err, want)
				}
			case <-time.After(callTime):
				t.Fatalf("a call goes on after the end of its %s", end)
			}
		}
		cancel()
	}
}
