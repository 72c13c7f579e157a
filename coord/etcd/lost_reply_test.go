package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// ear loses answers: after each request it is asked whether that of the request is lost, for as
// long as it waits.
type ear struct {
	loses atomic.Pointer[func(req any) bool] // nil: everything is heard
}

func (e *ear) lose(which func(req any) bool) { e.loses.Store(&which) }

func (e *ear) option() grpc.DialOption {
	return intercept(func(ctx context.Context, _ string, req any, call func() error) error {
		err := call()
		if loses := e.loses.Load(); loses != nil && (*loses)(req) {
			<-ctx.Done()
			return ctx.Err()
		}
		return err
	})
}

// wantRefused makes a request with the same token and another layout, which ends what the
// coordinator has for that token, and closes the coordinator.
func wantRefused(t *testing.T, c protocol.Full, req coord.Request) {
	t.Helper()
	req.Fingerprint = "another layout"
	if g, err := c.Acquire(within(t), req); !errors.Is(err, coord.ErrLayoutMismatch) {
		t.Errorf("Acquire with another layout: %v, %v; want %v", g, err, coord.ErrLayoutMismatch)
	}
	if err := c.Close(); err != nil { // waits for what is done in the background
		t.Fatal(err)
	}
}

// TestLostReplyOnResume: the answer to the write that puts a lease back is lost, and the write is
// made again; the next time nobody learns of it. The lease is the grant's, and is not revoked as
// one that was made in vain.
func TestLostReplyOnResume(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns, client, e := rand.Text(), server.Client(t), new(ear)
	heard := server.Client(t, e.option())
	heard.SetEndpoints(server.Endpoint, server.Endpoint) // two members, as far as it knows
	c := newCoordinator(t, heard, ns)
	req := request(1)
	g := mustAcquire(t, c, req)
	endLease(t, client, ns, 0)
	var lost atomic.Bool
	e.lose(func(req any) bool { return puts(req, "/token/") && lost.CompareAndSwap(false, true) })
	h, err := c.Renew(hurried(t), g, g.NotAfter+1000)
	if err != nil || !lost.Load() {
		t.Fatalf("Renew of %v with an answer lost, %v: %v, %v", g, lost.Load(), h, err)
	}
	endLease(t, client, ns, 0)
	ctx, giveUp := context.WithCancel(within(t))
	e.lose(func(req any) bool {
		if puts(req, "/token/") {
			giveUp()
		}
		return ctx.Err() != nil
	})
	if r, err := c.Renew(ctx, h, h.NotAfter+1000); !errors.Is(err, context.Canceled) {
		t.Fatalf("Renew of %v that is given up with an answer lost: %v, %v", h, r, err)
	}
	e.loses.Store(nil)
	wantRefused(t, c, req)
	if stored(t, client, ownerKey(ns, 0)) == "" {
		t.Errorf("%v has no owner key", h)
	}
}

// TestLeaseOfALostGrantOutlivesACancel: an acquisition may have been granted, the caller asks
// again, and gives that up, or is refused. The lease that may carry the grant is not revoked,
// since the caller may ask once more.
func TestLeaseOfALostGrantOutlivesACancel(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns, e := rand.Text(), new(ear)
	c := newCoordinator(t, server.Client(t, e.option()), ns)
	req := request(1)
	var deaf atomic.Bool
	e.lose(func(req any) bool {
		if puts(req, "/slot/") {
			deaf.Store(true)
		}
		return deaf.Load()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if g, err := c.Acquire(ctx, req); err == nil || !deaf.Load() {
		t.Fatalf("Acquire without answers, since the grant was asked for, %v: %v, %v", deaf.Load(), g,
			err)
	}
	ctx, cancel = context.WithCancel(within(t))
	e.lose(func(any) bool { cancel(); return true })
	if _, err := c.Acquire(ctx, req); !errors.Is(err, context.Canceled) {
		t.Fatalf("Acquire that is given up: %v", err)
	}
	e.loses.Store(nil)
	wantRefused(t, c, req)
	if stored(t, server.Client(t), ownerKey(ns, 0)) == "" {
		t.Error("the grant of which nobody has learned has no owner key")
	}
}

// TestLateRevoke: a lease that was made in vain is revoked late, when the same token has been
// granted a worker ID by somebody else. That grant has another lease.
func TestLateRevoke(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	direct, ns := server.Client(t), rand.Text()
	delayed := make(chan struct{})
	a := newCoordinator(t, server.Client(t,
		intercept(func(_ context.Context, method string, _ any, call func() error) error {
			if method == "LeaseRevoke" {
				<-delayed
			}
			return call()
		})), ns)

	b := newCoordinator(t, direct, ns)
	g := mustAcquire(t, b, request(1))
	if err := b.Release(within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
	key := slotKey(ns, 0)
	good := stored(t, direct, key)
	put := func(value string) {
		t.Helper()
		if _, err := direct.Put(within(t), key, value); err != nil {
			t.Fatal(err)
		}
	}
	put("{")
	req := request(1)
	if h, err := a.Acquire(within(t), req); !errors.Is(err, coord.ErrInvalid) {
		t.Fatalf("Acquire of a damaged slot: %v, %v; want %v", h, err, coord.ErrInvalid)
	}
	put(good)
	g = mustAcquire(t, b, req)
	close(delayed)
	if err := a.Close(); err != nil { // waits for what is done in the background
		t.Fatal(err)
	}
	if stored(t, direct, ownerKey(ns, 0)) == "" {
		t.Errorf("%v has no owner key", g)
	}
}
