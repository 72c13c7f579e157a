package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

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

// lossy is the coordinator behind the thief. An acquisition makes the survey, looks at the
// slots, and then grants.
func (r *robbed) lossy(t *testing.T) *drivertest.Lossy {
	t.Helper()
	transactions := map[coordtest.Op]int{coordtest.Acquire: 3, coordtest.Renew: 1, coordtest.Release: 1}
	return &drivertest.Lossy{
		Coordinator: r.Coordinator,
		Lose:        func(op coordtest.Op, all bool) { r.rob(transactions[op], all) },
		Heal: func() int {
			lost := r.heal()
			streamtest.Eventually(t, "there is a connection again", func() bool {
				_, err := r.List(within(t))
				return err == nil
			})
			return lost
		},
	}
}

func TestLostReplyOnAcquire(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	drivertest.LostReplyOnAcquire(t, r.lossy(t))
	r.wantLeases(t, 0)
}

func TestLostRepliesOnAcquire(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	drivertest.LostRepliesOnAcquire(t, r.lossy(t))
	r.wantLeases(t, 1)
}

func TestLostReplyOnRenew(t *testing.T) {
	t.Parallel()
	drivertest.LostReplyOnRenew(t, newRobbed(t).lossy(t))
}

func TestLostRepliesOnRenew(t *testing.T) {
	t.Parallel()
	drivertest.LostRepliesOnRenew(t, newRobbed(t).lossy(t))
}

func TestLostReplyOnRelease(t *testing.T) {
	t.Parallel()
	drivertest.LostReplyOnRelease(t, newRobbed(t).lossy(t))
}

func TestLostRepliesOnRelease(t *testing.T) {
	t.Parallel()
	drivertest.LostRepliesOnRelease(t, newRobbed(t).lossy(t))
}

// The answer to the write that puts a lease back is lost, and the write is made again; the
// next time nobody learns of it. The lease is the grant's, and is not revoked as one that
// was made in vain.
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
	wantRefused(t, c, req)
	if stored(t, client, ownerKey(ns, 0)) == "" {
		t.Errorf("%v has no owner key", h)
	}
}

// wantRefused makes a request with the same token and another layout, which ends what the
// coordinator has for that token, and closes the coordinator.
func wantRefused(t *testing.T, c *etcd.Coordinator, req coord.Request) {
	t.Helper()
	req.Fingerprint = "another layout"
	if g, err := c.Acquire(within(t), req); !errors.Is(err, coord.ErrLayoutMismatch) {
		t.Errorf("Acquire with another layout: %v, %v; want %v", g, err, coord.ErrLayoutMismatch)
	}
	if err := c.Close(); err != nil { // waits for what is done in the background
		t.Fatal(err)
	}
}

// An acquisition may have been granted, the caller asks again, and gives that up, or is
// refused: the lease that may carry the grant is not revoked, since the caller may ask once
// more.
func TestLeaseOfALostGrantOutlivesACancel(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	req := request(1)
	r.rob(3, true)
	if g, err := r.Acquire(hurried(t), req); err == nil {
		t.Fatalf("Acquire without replies returned %v", g)
	}
	r.lossy(t).Heal()
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
	r.lossy(t).Heal()
	wantRefused(t, r.Coordinator, req)
	if n := r.held(t); n != 1 {
		t.Errorf("%d worker IDs are held; want 1", n)
	}
}
