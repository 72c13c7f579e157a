package coordtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// broken is a client that does something wrong around what the fake does.
type broken struct {
	*FakeClient
	wrong
	steps *sync.Mutex // of all clients of a fake
}

// wrong is what a broken client does: nothing, where it is nil or false.
type wrong struct {
	asks  func(req *coord.Request)            // before Acquire
	takes func(op Op, s slot, g *coord.Grant) // before the others; s is what is stored
	ends  func(m *made)                       // after each

	deaf    bool // to contexts that have ended
	open    bool // after Close
	lax     bool // about new tokens
	handled bool // wants the handles that it has made
}

// made is a call that was made.
type made struct {
	op     Op
	req    coord.Request
	before slot        // what was stored
	old    coord.Grant // of the caller
	until  int64       // of Release: the last tick
	now    coord.Grant
	err    error
	stored *slot
}

var errForeign = errors.New("the handle is not mine")

func (b broken) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	m := made{op: Acquire, req: req}
	if b.asks != nil {
		b.asks(&req)
	}
	m.now, m.err = b.FakeClient.Acquire(b.heard(ctx), req)
	m.now.Token = m.req.Token
	return b.end(m)
}

func (b broken) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return b.do(made{op: Renew, old: g, until: until}, func(g coord.Grant) (coord.Grant, error) {
		return b.FakeClient.Renew(ctx, g, until)
	})
}

func (b broken) Resume(ctx context.Context, g coord.Grant, token string,
	until int64,
) (coord.Grant, error) {
	return b.do(made{op: Resume, old: g, until: until}, func(g coord.Grant) (coord.Grant, error) {
		if b.lax {
			return b.FakeClient.do(ctx, Call{Op: Resume, Grant: g, Token: token, Until: until})
		}
		return b.FakeClient.Resume(b.heard(ctx), g, token, until)
	})
}

func (b broken) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := b.do(made{op: Release, old: g, until: last}, func(g coord.Grant) (coord.Grant, error) {
		return coord.Grant{}, b.FakeClient.Release(ctx, g, last)
	})
	return err
}

func (b broken) Close() error {
	if b.open {
		return nil
	}
	return b.FakeClient.Close()
}

func (b broken) heard(ctx context.Context) context.Context {
	if b.deaf {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func (b broken) do(m made, call func(coord.Grant) (coord.Grant, error)) (coord.Grant, error) {
	if b.handled && m.op != Resume && m.old.Handle != b.FakeClient {
		return coord.Grant{}, errForeign
	}
	b.steps.Lock() // as one step of a back end
	defer b.steps.Unlock()
	g := m.old
	b.fake.mu.Lock()
	m.before = *b.fake.slot(g.WorkerID)
	b.fake.mu.Unlock()
	if b.takes != nil {
		b.takes(m.op, m.before, &g)
	}
	m.now, m.err = call(g)
	return b.end(m)
}

func (b broken) end(m made) (coord.Grant, error) {
	if b.handled {
		m.now.Handle = b.FakeClient
	}
	if b.ends != nil {
		b.fake.mu.Lock()
		defer b.fake.mu.Unlock()
		m.stored = b.fake.slot(max(m.old.WorkerID, m.now.WorkerID))
		b.ends(&m)
	}
	return m.now, m.err
}

// brokenHarness makes a harness whose clients are broken.
func brokenHarness(w wrong) func() Harness {
	return func() Harness {
		f := NewFake(FakeConfig{})
		h := fakeHarness(f)
		steps := new(sync.Mutex)
		h.Client = func(testing.TB, coord.Range) coord.Coordinator {
			return broken{f.Client(), w, steps}
		}
		return h
	}
}
