package coordtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// FakeConfig says what a [Fake] is like. The zero FakeConfig works.
type FakeConfig struct {
	// Workers is how many worker IDs there are, from 0 on; 0: as many as the share
	// of a request.
	Workers int
	// Rules are what the clients say of lease times.
	Rules coord.LeaseRules
	// Mute has AwaitFree return at once, as where a back end does not report released worker IDs.
	Mute bool
}

// fakeName is the name of its namespace, in errors.
const fakeName = "fake"

// Fake is a back end in memory, correct by the rules of package coord, with faults
// that tests ask for. Make participants with [Fake.Client]. All methods are safe
// for concurrent use and none blocks.
type Fake struct {
	cfg FakeConfig

	mu          sync.Mutex
	fingerprint string
	floor       int64
	slots       map[int]*slot
	uses        uint64 // of slots, so far

	faults [numOps][]fault
	outage *fault
	calls  []*Call
	// watchers are the channels of Lost, by token.
	watchers map[string]chan struct{}
	freed    chan struct{} // closed when a worker ID is released, or its lease is ended by a test
}

// NewFake returns an empty back end.
func NewFake(cfg FakeConfig) *Fake {
	return &Fake{
		cfg: cfg, slots: map[int]*slot{}, watchers: map[string]chan struct{}{},
		freed: make(chan struct{}),
	}
}

// Client returns a new participant of the back end.
func (f *Fake) Client() *FakeClient {
	return &FakeClient{fake: f, done: make(chan struct{})}
}

// FakeClient is one participant of a [Fake]. It implements [coord.Coordinator],
// [coord.Resumer], [coord.Notifier] and [coord.Waiter], has a method Describe, and is safe for
// concurrent use.
type FakeClient struct {
	fake *Fake
	once sync.Once
	done chan struct{} // closed by Close
}

var (
	_ coord.Coordinator = (*FakeClient)(nil)
	_ coord.Resumer     = (*FakeClient)(nil)
	_ coord.Notifier    = (*FakeClient)(nil)
	_ coord.Waiter      = (*FakeClient)(nil)
)

// Acquire implements [coord.Coordinator].
func (c *FakeClient) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	return c.do(ctx, Call{Op: Acquire, Request: req})
}

// Renew implements [coord.Coordinator].
func (c *FakeClient) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return c.do(ctx, Call{Op: Renew, Grant: g, Until: until})
}

// Release implements [coord.Coordinator].
func (c *FakeClient) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := c.do(ctx, Call{Op: Release, Grant: g, Last: last})
	return err
}

// Resume implements [coord.Resumer].
func (c *FakeClient) Resume(ctx context.Context, g coord.Grant, token string,
	until int64,
) (coord.Grant, error) {
	if err := g.CheckResume(token); err != nil {
		return coord.Grant{}, err
	}
	return c.do(ctx, Call{Op: Resume, Grant: g, Token: token, Until: until})
}

// Close implements [coord.Coordinator]. Calls under way return as well.
func (c *FakeClient) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// Lost implements [coord.Notifier]. The channel is closed by [Fake.Expire] and
// [Fake.Steal]; a lease that merely runs out gives no hint.
func (c *FakeClient) Lost(g coord.Grant) <-chan struct{} {
	f := c.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers[g.Token] == nil {
		f.watchers[g.Token] = make(chan struct{})
	}
	return f.watchers[g.Token]
}

// AwaitFree implements [coord.Waiter]. A lease that merely runs out is not reported.
func (c *FakeClient) AwaitFree(ctx context.Context, _ coord.Request) bool {
	f := c.fake
	f.mu.Lock()
	freed := f.freed
	f.mu.Unlock()
	if f.cfg.Mute {
		return false
	}
	select {
	case <-freed:
		return true
	case <-c.done:
	case <-ctx.Done():
	}
	return false
}

// Describe is that of a [coord.AdminCoordinator].
func (c *FakeClient) Describe() coord.Description {
	return coord.Description{Rules: c.fake.cfg.Rules}
}

type result struct {
	grant coord.Grant
	err   error
}

// do makes a call with whatever fault is planned for it.
func (c *FakeClient) do(ctx context.Context, call Call) (coord.Grant, error) {
	select {
	case <-c.done:
		return coord.Grant{}, coord.ErrClosed
	case <-ctx.Done():
		return coord.Grant{}, noReply(ctx, call.Op)
	default:
	}
	f := c.fake
	reply := make(chan result, 1)
	ft := f.arrive(&call, reply)
	if ft.err != nil {
		return coord.Grant{}, fmt.Errorf("coordtest: %v of the fake: %w", call.Op, ft.err)
	}
	ft.request.then(func() {
		r := f.apply(&call)
		ft.reply.then(func() { reply <- r })
	})
	select {
	case r := <-reply: // at once, whatever else has ended meanwhile
		return r.grant, r.err
	default:
	}
	select {
	case r := <-reply:
		return r.grant, r.err
	case <-c.done:
		return coord.Grant{}, coord.ErrClosed
	case <-ctx.Done():
		return coord.Grant{}, noReply(ctx, call.Op)
	}
}

func noReply(ctx context.Context, op Op) error {
	return fmt.Errorf("coordtest: no reply to %v of the fake: %w", op, ctx.Err())
}

// arrive logs a call and takes the fault that is planned for it.
func (f *Fake) arrive(call *Call, reply chan<- result) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	call.At = time.UnixMicro(time.Now().UnixMicro())
	f.calls = append(f.calls, call)
	ft := f.nextFault(call.Op)
	if ft.held != nil {
		ft.held.requests = append(ft.held.requests, func() { reply <- f.apply(call) })
	}
	return ft
}

// apply lets the back end do a call.
func (f *Fake) apply(call *Call) (r result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch call.Op {
	case Acquire:
		r.grant, r.err = f.acquire(call.Request)
	case Renew:
		r.grant, r.err = f.renew(call.Grant, call.Until)
	case Resume:
		r.grant, r.err = f.resume(call.Grant, call.Token, call.Until)
	case Release:
		if r.err = f.release(call.Grant, call.Last); r.err == nil {
			delete(f.watchers, call.Grant.Token)
		}
	}
	call.Result = r.grant
	return r
}
