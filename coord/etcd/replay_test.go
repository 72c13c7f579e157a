package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// recorder keeps the transactions that a client makes, so that they can be made
// again, as a network does that delivers a request late.
type recorder struct {
	mu   sync.Mutex
	txns []*pb.TxnRequest
	hold bool // they are kept from the server
	// cut keeps everything from the server, from the first transaction on that grants.
	cut bool
}

var errHeld = errors.New("held back")

func (r *recorder) option() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if txn, ok := req.(*pb.TxnRequest); ok && strings.HasSuffix(method, "/Txn") {
			r.mu.Lock()
			r.txns = append(r.txns, txn)
			r.hold = r.hold || r.cut && grants(txn)
			held := r.hold
			r.mu.Unlock()
			if held {
				return errHeld
			}
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	})
}

// grants tells whether a transaction stores a slot.
func grants(txn *pb.TxnRequest) bool {
	for _, op := range txn.GetSuccess() {
		if strings.Contains(string(op.GetRequestPut().GetKey()), "/slot/") {
			return true
		}
	}
	return false
}

// granting returns the first transaction that stores a slot.
func (r *recorder) granting() *pb.TxnRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, txn := range r.txns {
		if grants(txn) {
			return txn
		}
	}
	return nil
}

// last returns the transaction that was made last.
func (r *recorder) last() *pb.TxnRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.txns[len(r.txns)-1]
}

func (r *recorder) keep(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold = on
}

// TestReplayedAcquire: the transaction of an acquisition arrives once more, when its
// holder is gone and others have had the worker ID. It does nothing.
func TestReplayedAcquire(t *testing.T) {
	server := etcdtest.Start(t)
	direct, ns := server.Client(t), rand.Text()
	raw := pb.NewKVClient(direct.ActiveConnection())
	rec := new(recorder)
	a := newCoordinator(t, server.Client(t, rec.option()), ns, nil)
	b := newCoordinator(t, server.Client(t), ns, nil)
	old := mustAcquire(t, a, request(1))
	txn := rec.last()
	replay := func(when string) {
		t.Helper()
		resp, err := raw.Txn(within(t), txn)
		if err == nil && resp.GetSucceeded() {
			t.Fatalf("the acquisition was done again %s", when)
		}
	}
	replay("while it is held")
	endLease(t, direct, ns, 0)
	replay("after its lease had ended")
	g := mustAcquire(t, b, request(1))
	replay("while others hold it")
	endLease(t, direct, ns, 0)
	replay("after others held it")
	if h, err := a.Renew(within(t), old, g.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of %v after %v: %v, %v; want %v", old, g, h, err, coord.ErrLeaseLost)
	}
}

// TestDelayedAcquire: the transaction of an acquisition arrives when the same token
// has been granted another worker ID already. One token holds one worker ID.
func TestDelayedAcquire(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	raw := pb.NewKVClient(server.Client(t).ActiveConnection())
	rec := &recorder{cut: true}
	req := request(capacity)
	if g, err := newCoordinator(t, server.Client(t, rec.option()), ns, nil).Acquire(within(t), req); err == nil {
		t.Fatalf("Acquire without an answer: %v", g)
	}
	c := newCoordinator(t, server.Client(t), ns, nil)
	g := mustAcquire(t, c, req)
	resp, err := raw.Txn(within(t), rec.granting())
	if err != nil || resp.GetSucceeded() {
		t.Errorf("%v is held, and the delayed transaction ended with %v, %v; want it refused by what it compares", g, resp.GetSucceeded(), err)
	}
	wantStored(t, c, g)
}

// TestLateRevoke: a lease that was made in vain is revoked late, when the same token has been
// granted a worker ID by somebody else. That grant has another lease.
func TestLateRevoke(t *testing.T) {
	server := etcdtest.Start(t)
	direct, ns := server.Client(t), rand.Text()
	late := make(chan struct{})
	a := newCoordinator(t, server.Client(t, grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if strings.HasSuffix(method, "/LeaseRevoke") {
			<-late
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	})), ns, nil)
	b := newCoordinator(t, direct, ns, nil)
	g := mustAcquire(t, b, request(1))
	if err := b.Release(within(t), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
	key := "/unalike/" + ns + "/slot/0000000000"
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
	close(late)
	if err := a.Close(); err != nil { // waits for what is done in the background
		t.Fatal(err)
	}
	if stored(t, direct, ownerKey(ns, 0)) == "" {
		t.Errorf("%v has no owner key", g)
	}
}

// TestReorderedRenewals: a renewal is overtaken by the one after it. The stored
// window does not shrink.
func TestReorderedRenewals(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	raw := pb.NewKVClient(server.Client(t).ActiveConnection())
	rec := new(recorder)
	c := newCoordinator(t, server.Client(t, rec.option()), ns, nil)
	g := mustAcquire(t, c, request(1))
	rec.keep(true)
	if h, err := c.Renew(within(t), g, g.NotAfter+1000); err == nil || errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Renew without an answer: %v, %v", h, err)
	}
	rec.keep(false)
	rec.mu.Lock()
	var first *pb.TxnRequest // after it came the look at what it did
	for _, txn := range rec.txns {
		if grants(txn) {
			first = txn
		}
	}
	rec.mu.Unlock()
	g, err := c.Renew(within(t), g, g.NotAfter+2000)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := raw.Txn(within(t), first); err == nil && resp.GetSucceeded() {
		t.Error("a renewal that was overtaken was done")
	}
	wantStored(t, c, g)
}

// wantStored checks that what is stored is what was granted.
func wantStored(t *testing.T, c *etcd.Coordinator, g coord.Grant) {
	t.Helper()
	slots, err := c.List(within(t))
	if err != nil || len(slots) != 1 || slots[0].NotAfter != g.NotAfter {
		t.Errorf("stored is %+v, %v; granted was %v", slots, err, g)
	}
}
