package local

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/statefile"
)

const (
	layout  = "41/10/12/1ms/2024-01-01T00:00:00Z"
	horizon = 30_000 // ticks of 1 ms
)

var (
	scale    = clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000}
	errAway  = errors.New("the back end is away")
	errDisk  = errors.New("input/output error")
	errHangs = errors.New("it does not answer")
)

func tickNow() int64 { return scale.Tick(time.Now().UnixMicro()) }

// present tells the time of a bubble, too.
type present struct{}

func (present) UnixMicro() int64 { return time.Now().UnixMicro() }

// memoryCoordinator returns a coordinator over a server in memory.
func memoryCoordinator(tb testing.TB, server *memstore.Server) *protocol.Coordinator {
	tb.Helper()
	p, err := protocol.New(server, protocol.Settings{
		Driver: "memory", Title: "the memory", Namespace: "orders", Place: "memory", MinTTL: time.Second,
		MaxHorizon: 2 * time.Minute,
		SkewBound:  time.Second, Clock: present{}, Logger: slog.New(slog.DiscardHandler),
		ServerClock: server.Clock != nil,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

// link is the way of a process to a back end.
type link struct {
	*protocol.Coordinator
	place string
	// before a request arrives, and after it was carried out, either may fail, wait, or have it
	// carried out as if nobody had sent it.
	before, after func(ctx context.Context, op string, ghost func(*protocol.Coordinator)) error
}

// carry makes a call over a link.
func carry[T any](ctx context.Context, l *link, op string,
	do func(context.Context, *protocol.Coordinator) (T, error),
) (answer T, err error) {
	var none T
	ghost := func(c *protocol.Coordinator) { _, _ = do(context.Background(), c) }
	if err := l.before(ctx, op, ghost); err != nil {
		return none, err
	}
	answer, err = do(ctx, l.Coordinator)
	if lost := l.after(ctx, op, ghost); lost != nil {
		return none, lost
	}
	return answer, err
}

func (l *link) Describe() coord.Description {
	d := l.Coordinator.Describe()
	d.Place = l.place
	return d
}

func (l *link) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	return carry(ctx, l, "acquire",
		func(ctx context.Context, c *protocol.Coordinator) (coord.Grant, error) {
			return c.Acquire(ctx, req)
		})
}

func (l *link) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return carry(ctx, l, "renew", func(ctx context.Context,
		c *protocol.Coordinator,
	) (coord.Grant, error) {
		return c.Renew(ctx, g, until)
	})
}

func (l *link) Resume(ctx context.Context, g coord.Grant, token string,
	until int64,
) (coord.Grant, error) {
	return carry(ctx, l, "resume",
		func(ctx context.Context, c *protocol.Coordinator) (coord.Grant, error) {
			return c.Resume(ctx, g, token, until)
		})
}

func (l *link) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := carry(ctx, l, "release",
		func(ctx context.Context, c *protocol.Coordinator) (any, error) {
			return nil, c.Release(ctx, g, last)
		})
	return err
}

func (l *link) Inspect(ctx context.Context) (coord.Namespace, error) {
	return carry(ctx, l, "inspect",
		func(ctx context.Context, c *protocol.Coordinator) (coord.Namespace, error) {
			return c.Inspect(ctx)
		})
}

// testDisk is a disk in a bubble, which can hang, fail and take its time.
type testDisk struct {
	takes   atomic.Int64 // nanoseconds, each record
	writes  atomic.Int64
	mu      sync.Mutex
	trouble error // nil: it works
	changed time.Time
}

func (d *testDisk) is(trouble error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trouble = trouble
}

func (d *testDisk) works() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trouble
}

func (d *testDisk) seam(s *statefile.System) {
	stamp, write := s.Stamp, s.Write
	s.Write = func(f *os.File, b []byte, at int64) (int, error) {
		d.writes.Add(1)
		d.mu.Lock()
		d.changed = time.Now()
		d.mu.Unlock()
		return write(f, b, at)
	}
	s.Sync = func(f *os.File) error {
		for errors.Is(d.works(), errHangs) {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Duration(d.takes.Load()))
		return errors.Join(d.works(), f.Sync())
	}
	s.Stamp = func(f *os.File) (filesys.Stamp, bool, error) {
		st, ok, err := stamp(f)
		d.mu.Lock()
		defer d.mu.Unlock()
		st.Changed = d.changed
		return st, ok, err
	}
}

// rig is a back end with one file.
type rig struct {
	testing.TB
	server *memstore.Server
	dir    string
	place  string
	disk   testDisk
	sys    func(*statefile.System)

	away, silent atomic.Bool  // the back end refuses, or says nothing
	slow         atomic.Int64 // its answers take so long, in nanoseconds
	trouble      func(op string, ghost func(*protocol.Coordinator)) error
	sent         [5]atomic.Int64
}

var ops = map[string]int{"acquire": 0, "renew": 1, "resume": 2, "release": 3, "inspect": 4}

func newRig(tb testing.TB) *rig {
	return &rig{
		TB: tb, server: memstore.NewServer("a"), dir: tb.TempDir(), place: "memory",
		sys: func(*statefile.System) {},
	}
}

// inBubble runs f in a bubble whose clock is past the epoch, with a rig whose server has that
// clock.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		r := newRig(t)
		r.server.Clock = present{}.UnixMicro
		r.sys = r.disk.seam
		f(t, r)
	})
}

func (r *rig) file() string { return filepath.Join(r.dir, "state") }

func (r *rig) before(ctx context.Context, op string, ghost func(*protocol.Coordinator)) error {
	r.sent[ops[op]].Add(1)
	if r.silent.Load() {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if r.trouble != nil {
		if err := r.trouble(op, ghost); err != nil {
			return err
		}
	}
	if r.away.Load() {
		return errAway
	}
	return nil
}

func (r *rig) after(ctx context.Context, _ string, _ func(*protocol.Coordinator)) error {
	select {
	case <-time.After(time.Duration(r.slow.Load())):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// process is a process with a state file.
type process struct {
	*coordinator
	*rig
}

// build returns a coordinator with the rig's file and machine.
func (r *rig) build(h slog.Handler) *coordinator {
	r.Helper()
	machine := statefile.Host()
	r.sys(machine)
	c, err := build(&link{memoryCoordinator(r.TB, r.server), r.place, r.before, r.after}, r.file(),
		Options{Logger: slog.New(h)}, machine)
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// start starts a process on the rig's file.
func (r *rig) start() *process {
	r.Helper()
	p := &process{r.build(slog.DiscardHandler), r}
	r.Cleanup(func() {
		r.disk.is(nil)
		p.kill()
	})
	return p
}

// kill ends a process without giving anything back.
func (p *process) kill() {
	p.Helper()
	_ = p.coordinator.Close()
	p.eventually("the file is free", func() bool {
		p.coordinator.mu.Lock()
		defer p.coordinator.mu.Unlock()
		return !p.coordinator.disk.open && !p.coordinator.disk.busy
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

// ask acquires one of four worker IDs.
func (p *process) ask() (coord.Grant, error) { return p.Acquire(p.ctx(), p.request(4)) }

// extend renews at the present.
func (p *process) extend(g coord.Grant) (coord.Grant, error) {
	return p.Renew(p.ctx(), g, tickNow()+horizon)
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
	r, err := p.extend(g)
	if err != nil {
		p.Fatalf("Renew of %v: %v", g, err)
	}
	return r
}

// left starts a process, lets it issue and be killed, and returns what it had.
func (r *rig) left() coord.Grant {
	r.Helper()
	p := r.start()
	g := p.renew(p.acquire(4))
	p.kill()
	return g
}

// follows fails the test if h does not go on with g above its window.
func (r *rig) follows(h, g coord.Grant) {
	r.Helper()
	if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		safetytest.Of(r).Fatalf("%v was left, and granted is %v; want the same above it", g, h)
	}
}

// stored returns the grants that the file has now.
func (r *rig) stored() []*entry {
	r.Helper()
	var grants []*entry
	if _, err := statefile.Peek(r.file(), &grants); err != nil {
		r.Fatalf("the file cannot be read: %v", err)
	}
	return grants
}

// eventually polls for what happens behind the caller's back.
func (r *rig) eventually(what string, ok func() bool) {
	r.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("not within 20 s: %s", what)
		}
	}
}
