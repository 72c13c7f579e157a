package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// interrupter makes something happen before one of a client's calls.
type interrupter struct {
	mu   sync.Mutex
	left int // calls until then; 0: none is waited for
	act  func()
	done bool

	// meanwhile is not nil if the reply to the next transaction is lost, and is called
	// then.
	meanwhile func()
	// down is whether calls fail at once.
	down bool
	// each is called before each transaction, if it is not nil.
	each func()
	// after is called after each transaction that was to write a slot, before the caller has
	// the reply, if it is not nil.
	after func()
}

// before has act called before the n-th call from now on, and reports whether it was.
func (i *interrupter) before(n int, act func()) (acted func() bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.left, i.act, i.done = n, act, false
	return func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.left = 0
		return i.done
	}
}

// call is called before each call. Others wait meanwhile.
func (i *interrupter) call() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.left == 0 {
		return
	}
	if i.left--; i.left == 0 {
		i.done = true
		i.act()
	}
}

// lose has the reply to the next transaction lost, and act called before what follows.
func (i *interrupter) lose(act func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.meanwhile = act
}

// robbed returns what to call in place of the reply to a call; nil: it gets through.
func (i *interrupter) robbed(method string) (act func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if strings.HasSuffix(method, "/Txn") {
		act, i.meanwhile = i.meanwhile, nil
	}
	return act
}

// refused is the error of a call that does not get through.
func (i *interrupter) refused(method string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.each != nil && strings.HasSuffix(method, "/Txn") {
		i.each()
	}
	if i.down {
		return status.Error(codes.Unavailable, "down")
	}
	return nil
}

// answered is called when there is a reply to a request.
func (i *interrupter) answered(req any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.after != nil && puts(req, "/slot/") {
		i.after()
	}
}

// puts reports whether a request is a transaction that is to write a key with this part.
func puts(req any, part string) bool {
	txn, _ := req.(*pb.TxnRequest)
	return slices.ContainsFunc(txn.GetSuccess(), func(op *pb.RequestOp) bool {
		return strings.Contains(string(op.GetRequestPut().GetKey()), part)
	})
}

// setDown has calls fail from now on, or not any more.
func (i *interrupter) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *interrupter) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			i.call()
			if err := i.refused(method); err != nil {
				return err
			}
			meanwhile := i.robbed(method)
			err := invoke(ctx, method, req, reply, cc, opts...)
			i.answered(req)
			if meanwhile != nil && err == nil {
				meanwhile()
				return status.Error(codes.Unavailable, "the reply is lost")
			}
			return err
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			i.call()
			return stream(ctx, desc, cc, method, opts...)
		}),
	}
}

// TestBetween: something happens between two calls of one operation.
func TestBetween(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	operator := server.Client(t)
	coordtest.RunBetween(t, func(tb testing.TB) coordtest.BetweenHarness {
		tb.Helper()
		ns := rand.Text()
		interrupters := map[coord.Coordinator]*interrupter{}
		return coordtest.BetweenHarness{
			Harness: coordtest.Harness{
				Client: func(tb testing.TB, _ coord.Range) coord.Coordinator {
					tb.Helper()
					i := new(interrupter)
					c := newCoordinator(tb, server.Client(tb, i.options()...), ns, nil)
					interrupters[c] = i
					return c
				},
				Expire:     func(tb testing.TB, g coord.Grant) { tb.Helper(); endLease(tb, operator, ns, g.WorkerID) },
				RaiseFloor: func(tb testing.TB, tick int64) { tb.Helper(); raiseFloor(tb, operator, ns, tick) },
			},
			Before: func(_ testing.TB, c coord.Coordinator, n int, act func()) func() bool {
				return interrupters[c].before(n, act)
			},
			Lose: func(tb testing.TB) func() { tb.Helper(); return rollBack(tb, server) },
		}
	})
}

// interrupted is a coordinator that something can happen to between its calls.
type interrupted struct {
	*etcd.Coordinator
	*interrupter
	server *etcdtest.Server
	ns     string
	client *clientv3.Client
}

func newInterrupted(t *testing.T, server *etcdtest.Server) *interrupted {
	t.Helper()
	i := &interrupted{interrupter: new(interrupter), server: server, ns: rand.Text(), client: server.Client(t)}
	i.Coordinator = newCoordinator(t, server.Client(t, i.options()...), i.ns, nil)
	return i
}

// goBack puts the slot of a worker ID back to what it was before a renewal, which it returns.
func (i *interrupted) goBack(t *testing.T, g coord.Grant) coord.Grant {
	t.Helper()
	key := slotKey(i.ns, g.WorkerID)
	value := stored(t, i.client, key)
	g = renewed(t, i.Coordinator, g, 1)
	if _, err := i.client.Put(within(t), key, value); err != nil {
		t.Fatal(err)
	}
	return g
}

// The reply to a renewal is lost, and what is stored is read. It is not adopted if the
// floor was raised meanwhile, or the cluster has lost writes.
func TestResolvedRenewal(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(t *testing.T, i *interrupted, g coord.Grant){
		"the floor was raised": func(t *testing.T, i *interrupted, g coord.Grant) {
			t.Helper()
			raiseFloor(t, i.client, i.ns, g.NotAfter+100_000)
		},
		"writes were lost": func(t *testing.T, i *interrupted, _ coord.Grant) {
			t.Helper()
			restore := rollBack(t, i.server)
			advance(t, i.client, 50)
			if _, err := i.Inspect(within(t)); err != nil {
				t.Fatal(err)
			}
			restore()
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInterrupted(t, etcdtest.Start(t))
			g := renewed(t, i.Coordinator, mustAcquire(t, i.Coordinator, request(1)), 1)
			acted := false
			i.lose(func() { acted = true; act(t, i, g) })
			r, err := i.Renew(within(t), g, g.NotAfter+1000)
			if !acted {
				t.Fatal("the reply was not lost")
			}
			if !errors.Is(err, coord.ErrQuarantined) {
				t.Errorf("Renew of %v: %v, %v; want %v", g, r, err, coord.ErrQuarantined)
			}
		})
	}
}

// The floor that an operator raises while a loss is dealt with is not overwritten.
func TestRaiseBesideAnOperator(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	operator := server.Client(t)
	want := tickNow() + time.Hour.Milliseconds()
	for n := 1; ; n++ {
		i := newInterrupted(t, server)
		g := mustAcquire(t, i.Coordinator, request(1))
		g = i.goBack(t, g)
		acted := i.before(n, func() { raiseFloor(t, operator, i.ns, want) })
		if r, err := i.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrQuarantined) {
			t.Fatalf("Renew of a slot that went back: %v, %v", r, err)
		}
		if !acted() {
			break
		}
		if floor := scale().Tick(floorOf(t, i.Coordinator).UnixMicro()); floor < want {
			t.Errorf("before call %d the floor was raised to %d, now it is %d", n, want, floor)
		}
	}
}

// A window that grows while its worker ID is retired stays as it is.
func TestRetireBesideAHolder(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for n := 1; ; n++ {
		i := newInterrupted(t, server)
		holder := newCoordinator(t, server.Client(t), i.ns, nil)
		g := mustAcquire(t, holder, request(1))
		acted := i.before(n, func() { g = renewed(t, holder, g, 1) })
		if err := i.Retire(within(t), 0); err != nil {
			t.Fatal(err)
		}
		if !acted() {
			break
		}
		slots, err := i.List(within(t))
		if err != nil || len(slots) != 1 || slots[0].State != coord.SlotRetired || slots[0].NotAfter < g.NotAfter {
			t.Errorf("renewed before call %d was %v; stored is %+v, %v", n, g, slots, err)
		}
	}
}

// What an acquisition has reached is kept for the next one with the same token: its
// ticket, and its lease.
func TestAttemptsGoOn(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	for n := 2; n <= 4; n++ {
		i := newInterrupted(t, server)
		if err := i.Init(within(t), space()); err != nil {
			t.Fatal(err)
		}
		leases := func() int {
			resp, err := i.client.Leases(within(t))
			if err != nil {
				t.Fatal(err)
			}
			return len(resp.Leases)
		}
		before, req := leases(), request(capacity)
		acted := i.before(n, func() { i.down = true })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if g, err := i.Acquire(ctx, req); err == nil || !acted() {
			t.Fatalf("Acquire that fails with call %d: %v", n, g)
		}
		i.setDown(false)
		mustAcquire(t, i.Coordinator, req)
		resp, err := i.client.Get(within(t), "/unalike/"+i.ns+"/ticket")
		if err != nil {
			t.Fatal(err)
		}
		if tickets, made := resp.Kvs[0].Version, leases()-before; tickets != 1 || made != 1 {
			t.Errorf("Acquire failed with call %d, and was made again: %d tickets and %d leases; want one each", n, tickets, made)
		}
	}
}

// Whose time is up while others are faster is told so.
func TestDeadlineWhileRacing(t *testing.T) {
	t.Parallel()
	i := newInterrupted(t, etcdtest.Start(t))
	if err := i.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	meta := stored(t, i.client, "/unalike/"+i.ns+"/namespace")
	i.each = func() {
		if _, err := i.client.Put(within(t), "/unalike/"+i.ns+"/namespace", meta); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancelCause(within(t))
	i.after = func() { cancel(context.DeadlineExceeded) }
	if g, err := i.Acquire(ctx, request(capacity)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire whose time is up: %v, %v; want %v", g, err, context.DeadlineExceeded)
	}
}
