package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// TestWatchGoesOn: a watch whose connection breaks is taken up again, and what was
// missed meanwhile is noticed.
func TestWatchGoesOn(t *testing.T) {
	server := etcdtest.Start(t)
	operator, ns := server.Client(t), rand.Text()
	proxy := proxytest.Start(t, server.Endpoint)
	c := newCoordinator(t, etcdtest.Connect(t, []string{proxy.Addr}), ns)
	g := mustAcquire(t, c, request(1))
	notice := c.Lost(g)
	proxy.Refuse()
	endLease(t, operator, ns, g.WorkerID)
	proxy.Restore()
	select {
	case <-notice:
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
