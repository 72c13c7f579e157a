package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// patience is the deadline of calls of which a reply is lost: it costs a third, and
// what is left is for a machine that is slow.
const patience = 9 * time.Second

// thief makes the proxy lose the replies to certain transactions.
type thief struct {
	proxy *proxytest.Proxy
	mu    sync.Mutex
	next  int // transactions to let through before the one to rob; negative: rob none
	robs  bool
	keep  bool
	stole int
}

// rob loses the reply to the n-th transaction from now on, counted from 1; with all,
// also every reply after it, until the next call of heal.
func (th *thief) rob(n int, all bool) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.next, th.keep, th.stole, th.robs = n-1, all, 0, false
}

// heal lets everything through, and returns how many replies were lost.
func (th *thief) heal() int {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.next, th.robs = -1, false
	th.proxy.Heal()
	return th.stole
}

// reconnect is heal, and waits until there is a connection again.
func (r *robbed) reconnect(t *testing.T) {
	t.Helper()
	r.heal()
	streamtest.Eventually(t, "there is a connection again", func() bool {
		_, err := r.List(within(t))
		return err == nil
	})
}

// arm is called before each transaction. A reply stays lost until the next transaction:
// the driver sends one when it has waited for long enough.
func (th *thief) arm() {
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.robs && !th.keep {
		th.robs = false
		th.proxy.Heal()
	}
	if th.next != 0 {
		if th.next > 0 {
			th.next--
		}
		return
	}
	th.stole++
	th.robs = true
	th.proxy.Swallow()
	if !th.keep {
		th.next = -1
	}
}

func (th *thief) option() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if strings.HasSuffix(method, "/Txn") {
			th.arm()
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	})
}

// robbed is a coordinator behind a thief.
type robbed struct {
	*etcd.Coordinator
	*thief
	direct    *clientv3.Client
	namespace string
}

func newRobbed(t *testing.T) *robbed {
	t.Helper()
	server := etcdtest.Start(t)
	r := &robbed{
		thief:     &thief{proxy: proxytest.Start(t, server.Endpoint), next: -1},
		direct:    server.Client(t),
		namespace: rand.Text(),
	}
	r.Coordinator = newCoordinator(t, etcdtest.Connect(t, []string{r.proxy.Addr}, r.option()), r.namespace, nil)
	return r
}

// hurried returns a context for a call of which a reply is lost.
func hurried(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// leases returns how many leases there are.
func (r *robbed) leases(t *testing.T) int {
	t.Helper()
	resp, err := r.direct.Leases(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return len(resp.Leases)
}

// wantLeases waits until there are n leases.
func (r *robbed) wantLeases(t *testing.T, n int) {
	t.Helper()
	streamtest.Eventually(t, "leases that nobody uses are revoked", func() bool { return r.leases(t) == n })
}

// held returns how many worker IDs are held.
func (r *robbed) held(t *testing.T) int {
	t.Helper()
	resp, err := r.direct.Get(within(t), "/unalike/"+r.namespace+"/owner/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return int(resp.Count)
}

// The reply to the transaction that grants is lost: the call finds out by itself.
func TestLostReplyOnAcquire(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	r.rob(3, false) // the survey, the slots, the grant
	req := request(capacity)
	g, err := r.Acquire(hurried(t), req)
	if stole := r.heal(); stole != 1 {
		t.Fatalf("%d replies were lost; want 1", stole)
	}
	if err != nil {
		t.Fatalf("Acquire with its reply lost: %v", err)
	}
	if n := r.held(t); n != 1 {
		t.Errorf("%d worker IDs are held; want 1", n)
	}
	g, err = r.Renew(within(t), g, g.NotAfter+1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Release(within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
	r.wantLeases(t, 0)
}

// All replies from the grant on are lost: the call fails, and the next one with the
// same token finds the same grant.
func TestLostRepliesOnAcquire(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	r.rob(3, true)
	req := request(1)
	if g, err := r.Acquire(hurried(t), req); err == nil {
		t.Fatalf("Acquire without replies returned %v", g)
	}
	r.reconnect(t)
	streamtest.Eventually(t, "the grant is stored", func() bool { return r.held(t) == 1 })
	g, err := r.Acquire(within(t), req)
	if err != nil {
		t.Fatalf("Acquire with the same token: %v", err)
	}
	if g.Generation != 1 || g.NotAfter != req.Until {
		t.Errorf("Acquire with the same token: %v; want generation 1, until %d", g, req.Until)
	}
	r.wantLeases(t, 1)
}

// The reply to a renewal is lost: what was stored is adopted.
func TestLostReplyOnRenew(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r.Coordinator, request(1))
	for i := range int64(3) {
		until := g.NotAfter + 1000
		r.rob(1, false)
		h, err := r.Renew(hurried(t), g, until)
		if stole := r.heal(); stole != 1 {
			t.Fatalf("%d replies were lost; want 1", stole)
		}
		if err != nil || h.NotAfter != until || h.NotBefore != g.NotBefore {
			t.Fatalf("renewal %d of %v until %d with its reply lost: %v, %v", i, g, until, h, err)
		}
		g = h
	}
}

// All replies are lost: the call fails, and a renewal of the old grant goes on from
// what was stored.
func TestLostRepliesOnRenew(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r.Coordinator, request(1))
	r.rob(1, true)
	if h, err := r.Renew(hurried(t), g, g.NotAfter+2000); err == nil || errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Renew without replies: %v, %v; want an error that is not definite", h, err)
	}
	r.reconnect(t)
	h, err := r.Renew(within(t), g, g.NotAfter+1000)
	if err != nil || h.NotAfter != g.NotAfter+2000 {
		t.Errorf("Renew of %v until %d after a lost one until %d: %v, %v", g, g.NotAfter+1000, g.NotAfter+2000, h, err)
	}
}

// The reply to a release is lost: the call finds out that it was done.
func TestLostReplyOnRelease(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r.Coordinator, request(1))
	r.rob(1, false)
	err := r.Release(hurried(t), g, g.NotBefore+1)
	if stole := r.heal(); stole != 1 || err != nil {
		t.Fatalf("Release with %d replies lost: %v; want 1 and no error", stole, err)
	}
	if n := r.held(t); n != 0 {
		t.Errorf("%d worker IDs are held; want none", n)
	}
	h := mustAcquire(t, r.Coordinator, request(1))
	if h.NotBefore != g.NotBefore+1 {
		t.Errorf("%v was released at %d, the next is %v", g, g.NotBefore+1, h)
	}
}

// All replies are lost: the call fails, and asking again says that the grant is over.
func TestLostRepliesOnRelease(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	g := mustAcquire(t, r.Coordinator, request(1))
	r.rob(1, true)
	if err := r.Release(hurried(t), g, g.NotBefore); err == nil {
		t.Fatal("Release without replies returned no error")
	}
	r.reconnect(t)
	if err := r.Release(within(t), g, g.NotBefore); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Release again: %v; want %v", err, coord.ErrLeaseLost)
	}
	mustAcquire(t, r.Coordinator, request(1))
}

// The answer to the write that puts a lease back is lost. The write is made again, or the
// caller gives up, and what its token has here ends: the lease is the grant's, and is not
// revoked as one that was made in vain.
func TestLostReplyOnResume(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns, client := rand.Text(), server.Client(t)
	var armed, lost atomic.Bool
	giveUp := func() {}
	c := newCoordinator(t, server.Client(t, grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if err == nil && puts(req, "/token/") && armed.CompareAndSwap(true, false) {
			lost.Store(true)
			giveUp()
			<-ctx.Done()
			return ctx.Err()
		}
		return err
	})), ns, nil)
	req := request(1)
	g := mustAcquire(t, c, req)
	endLease(t, client, ns, 0)
	armed.Store(true)
	h, err := c.Renew(hurried(t), g, g.NotAfter+1000)
	if err != nil || !lost.Load() {
		t.Fatalf("Renew of %v with a reply lost, %v: %v, %v", g, lost.Load(), h, err)
	}
	endLease(t, client, ns, 0)
	ctx, cancel := context.WithCancel(within(t))
	giveUp = cancel
	lost.Store(false)
	armed.Store(true)
	if r, err := c.Renew(ctx, h, h.NotAfter+1000); !errors.Is(err, context.Canceled) || !lost.Load() {
		t.Fatalf("Renew of %v that is given up with a reply lost, %v: %v, %v", h, lost.Load(), r, err)
	}
	// A request that cannot be granted ends what the token has here.
	req.Fingerprint = "another layout"
	if r, err := c.Acquire(within(t), req); !errors.Is(err, coord.ErrLayoutMismatch) {
		t.Fatalf("Acquire with another layout: %v, %v", r, err)
	}
	if err := c.Close(); err != nil { // waits for what is done in the background
		t.Fatal(err)
	}
	if stored(t, client, ownerKey(ns, 0)) == "" {
		t.Errorf("%v has no owner key", h)
	}
}

// An acquisition may have been granted, the caller asks again, and gives that up: the
// lease that may carry the grant is not revoked, since the caller may ask once more.
func TestLeaseOfALostGrantOutlivesACancel(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	req := request(1)
	r.rob(3, true)
	if g, err := r.Acquire(hurried(t), req); err == nil {
		t.Fatalf("Acquire without replies returned %v", g)
	}
	r.reconnect(t)
	streamtest.Eventually(t, "the grant is stored", func() bool { return r.held(t) == 1 })
	r.rob(1, true)
	ctx, cancel := context.WithCancel(within(t))
	result := make(chan error, 1)
	go func() { _, err := r.Acquire(ctx, req); result <- err }()
	streamtest.Eventually(t, "a reply is lost", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.stole > 0
	})
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatalf("Acquire that is given up: %v", err)
	}
	r.reconnect(t)
	// A request that cannot be granted ends what the token has here.
	req.Fingerprint = "another layout"
	if g, err := r.Acquire(within(t), req); !errors.Is(err, coord.ErrLayoutMismatch) {
		t.Fatalf("Acquire with another layout: %v, %v", g, err)
	}
	if err := r.Close(); err != nil { // waits for what is done in the background
		t.Fatal(err)
	}
	if n := r.held(t); n != 1 {
		t.Errorf("%d worker IDs are held; want 1", n)
	}
}
