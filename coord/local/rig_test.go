package local

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

const (
	layout  = "41/10/12/1ms/2024-01-01T00:00:00Z"
	horizon = 30_000 // ticks of 1 ms
)

var scale = clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000}

func tickNow() int64 { return scale.Tick(time.Now().UnixMicro()) }

// rig is a back end with one file.
type rig struct {
	testing.TB
	server *memstore.Server
	dir    string
	away   atomic.Bool
	sys    func(*system)
	place  string
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	return &rig{TB: tb, server: memstore.NewServer("a"), dir: tb.TempDir(), place: "memory"}
}

func (r *rig) file() string { return filepath.Join(r.dir, "state") }

// link is the way of one process to the back end.
type link struct {
	*protocol.Coordinator
	r        *rig
	lose     atomic.Int32 // replies to Resume that get lost
	calls    atomic.Int64
	released atomic.Int64
	resumed  atomic.Int64
	silent   bool // the handle of a grant tells nothing
	// trouble may be nil. An error is returned instead of what the back end says.
	generations uint64 // by which the back end is off
	trouble     func(op string, apply func(w coord.Coordinator)) error
}

var errAway = errors.New("the back end is away")

func (l *link) ask(op string, apply func(w coord.Coordinator)) error {
	l.calls.Add(1)
	if l.trouble != nil {
		if err := l.trouble(op, apply); err != nil {
			return err
		}
	}
	if l.r.away.Load() {
		return errAway
	}
	return nil
}

func bare(g coord.Grant) coord.Grant {
	g.Handle = nil
	return g
}

func (l *link) Describe() coord.Description {
	d := coord.Describe(l.Coordinator)
	d.Place = l.r.place
	return d
}

func (l *link) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := l.ask("acquire", func(w coord.Coordinator) { _, _ = w.Acquire(context.Background(), req) }); err != nil {
		return coord.Grant{}, err
	}
	g, err := l.Coordinator.Acquire(ctx, req)
	if l.silent {
		g.Handle = nil
	}
	return g, err
}

func (l *link) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	if err := l.ask("renew", func(w coord.Coordinator) { _, _ = w.Renew(context.Background(), bare(g), until) }); err != nil {
		return coord.Grant{}, err
	}
	return l.Coordinator.Renew(ctx, g, until)
}

func (l *link) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	if err := l.ask("resume", func(w coord.Coordinator) {
		_, _ = w.(coord.Resumer).Resume(context.Background(), bare(g), token, until)
	}); err != nil {
		return coord.Grant{}, err
	}
	l.resumed.Add(1)
	r, err := l.Coordinator.Resume(ctx, g, token, until)
	r.Generation += l.generations
	if err == nil && l.lose.Add(-1) >= 0 {
		return coord.Grant{}, errAway
	}
	return r, err
}

func (l *link) Release(ctx context.Context, g coord.Grant, last int64) error {
	if err := l.ask("release", func(w coord.Coordinator) { _ = w.Release(context.Background(), bare(g), last) }); err != nil {
		return err
	}
	l.released.Add(1)
	return l.Coordinator.Release(ctx, g, last)
}

func (l *link) Inspect(ctx context.Context) (coord.Namespace, error) {
	if err := l.ask("inspect", func(coord.Coordinator) {}); err != nil {
		return coord.Namespace{}, err
	}
	return l.Coordinator.Inspect(ctx)
}

// process is a process with a state file.
type process struct {
	*Coordinator
	*rig
	link *link
}

// start starts a process on the rig's file.
func (r *rig) start() *process {
	r.Helper()
	l := &link{Coordinator: memory(r.TB, r.server), r: r}
	c, err := New(l, r.file(), Options{})
	if err != nil {
		r.Fatal(err)
	}
	if r.sys != nil {
		r.sys(&c.sys)
	}
	p := &process{Coordinator: c, rig: r, link: l}
	r.Cleanup(func() { _ = c.Close() })
	return p
}

// kill ends a process without giving anything back.
func (p *process) kill() {
	p.Helper()
	_ = p.Coordinator.Close()
	p.eventually("the file is free", func() bool {
		p.Coordinator.mu.Lock()
		defer p.Coordinator.mu.Unlock()
		return p.Coordinator.file == nil
	})
}

func (r *rig) request(workers int) coord.Request {
	now := tickNow()
	return coord.Request{
		Token: rand.Text(), Holder: "test", Fingerprint: layout, Scale: scale, LastTick: 1<<41 - 1,
		Workers: coord.Range{Count: workers}, Capacity: 1024, TTL: 15 * time.Second,
		Now: now, Until: now + horizon, OpenBy: now, Ahead: 5,
	}
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	r.Cleanup(cancel)
	return ctx
}

// acquire acquires, which must succeed.
func (p *process) acquire(workers int) coord.Grant {
	p.Helper()
	g, err := p.Acquire(p.ctx(), p.request(workers))
	if err != nil {
		p.Fatalf("Acquire: %v", err)
	}
	return g
}

// renew renews at the present, which must succeed.
func (p *process) renew(g coord.Grant) coord.Grant {
	p.Helper()
	r, err := p.Renew(p.ctx(), g, tickNow()+horizon)
	if err != nil {
		p.Fatalf("Renew of %v: %v", g, err)
	}
	return r
}

// eventually polls for what happens behind the caller's back.
func (r *rig) eventually(what string, ok func() bool) {
	r.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			r.Fatalf("not within 20 s: %s", what)
		}
	}
}

// known waits until the file can be used without the back end.
func (p *process) known() {
	p.Helper()
	p.eventually("the namespace is in the file", func() bool {
		p.Coordinator.mu.Lock()
		defer p.Coordinator.mu.Unlock()
		for _, h := range p.holds {
			if h.entry.Nonce == "" {
				return false
			}
		}
		return true
	})
	p.Coordinator.mu.Lock()
	defer p.Coordinator.mu.Unlock()
	if err := p.store(p.ctx()); err != nil {
		p.Fatal(err)
	}
}
