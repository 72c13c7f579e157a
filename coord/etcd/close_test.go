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

// watches counts the owner keys that clients of this process watch.
func watches() int {
	b := make([]byte, 4<<20)
	return strings.Count(string(b[:runtime.Stack(b, true)]), "(*watchGRPCStream).serveSubstream(")
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
	streamtest.Eventually(t, "the owner key was looked at and is watched", func() bool { return watches() == 1 })
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
