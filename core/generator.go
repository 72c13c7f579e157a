package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// Generator issues IDs. All its methods are safe for concurrent use. It leases
// worker IDs until it is closed, so close it: that frees them at once instead of
// after the lease's TTL.
type Generator struct {
	// Read on every call, and not written after New.
	clock       clock.Clock
	fresher     clock.Fresher // the clock, if its reading may be stale
	scale       clock.Scale
	rule        rule
	idShift     uint8 // worker and sequence bits together
	tolerance   time.Duration
	only        *stripe // the stripe, if there is one alone
	stripes     []*stripe
	lastStripes []lastStripe // the stripe that each processor asks first; a power of two of them
	log         *slog.Logger

	_ [cacheLine]byte
	// Written when a tick is left, at most once a tick and worker ID.
	counted atomic.Uint64 // IDs of the ticks that were left
	_       [cacheLine]byte

	// The rest is off the hot path.
	refused     [verdicts]atomic.Uint64
	rollbacks   atomic.Uint64
	closing     atomic.Bool // set first by Close: nothing is published any more
	changed     signal      // something about the terms changed
	edges       edges       // who waits for the clock
	warnings    []string    // of the coordinator, standing
	closer      io.Closer   // closed last; nil: nothing is
	coordinator coord.Coordinator
	layout      Layout
	workers     coord.Range    // that it may lease
	calls       calls          // to the coordinator
	reported    reported       // what Health said last
	observer    observer       // calls OnChange
	starting    sync.WaitGroup // the wait for the windows of a generator that Start made
	ended       atomic.Bool    // Close is over
	endings     signal         // says so
	endErr      error          // its result; read after ended
}

// newGenerator puts a generator together, whose terms are closed until the first ones
// are leased.
func newGenerator(s *settings) *Generator {
	g := &Generator{
		clock:     s.Clock,
		layout:    s.Layout,
		workers:   s.workers,
		scale:     s.Layout.scale(),
		rule:      s.rule,
		idShift:   s.Layout.WorkerBits + s.Layout.SequenceBits,
		tolerance: s.RollbackTolerance,
		log:       s.Logger,
	}
	g.fresher, _ = s.Clock.(clock.Fresher)
	for range s.Stripes {
		g.stripes = append(g.stripes, newStripe(g))
	}
	for i, st := range g.stripes {
		st.next = g.stripes[(i+1)%len(g.stripes)]
	}
	g.lastStripes = newLastStripes(g.stripes)
	if len(g.stripes) == 1 {
		g.only = g.stripes[0]
	}
	g.observer.init(g, s.OnChange)
	g.OnCall(s.OnCall)
	return g
}

// Layout returns the layout of the IDs.
func (g *Generator) Layout() Layout { return g.layout }

// WorkerIDs returns the worker IDs that the generator may lease: all of the layout, or those of
// [coord.LeaseConfig].
func (g *Generator) WorkerIDs() coord.Range { return g.workers }

// Coordinator returns the coordinator, for what it offers beside leases: see
// [coord.AdminCoordinator].
func (g *Generator) Coordinator() coord.Coordinator { return g.coordinator }

// await blocks until something changes that could make st able to issue: its keeper
// changed something, its window opens, or the clock catches up with its last ID.
func (g *Generator) await(ctx context.Context, st *stripe, changed <-chan struct{}) error {
	tick := g.rule.tick(st.term.Load().start) + 1 - g.rule.lead
	if last, stamped := st.Last(); stamped {
		tick = last - g.rule.limit
	}
	at := g.scale.Micro(tick)
	if now := clock.Fresh(g.clock); at <= now {
		// The clock is not what it waits for. The keeper reports a change.
		at = now + time.Hour.Microseconds()
	}
	ring, stop := clock.Alarm(g.clock, at)
	defer stop()
	select {
	case <-ring:
		return nil
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ready returns nil as soon as the generator can issue IDs, at once if it can
// already. Otherwise it blocks until it can or ctx ends, and then returns ctx's
// error together with the reason, which errors.Is finds: [ErrWindowEnded] and so
// on. After Close it returns [ErrClosed]. A readiness probe must not wait: see
// [Generator.Check].
func (g *Generator) Ready(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	for {
		changed := g.changed.wait()
		st, err := g.anyAble()
		if err == nil || errors.Is(err, ErrClosed) || errors.Is(err, ErrTimeExhausted) {
			return err
		}
		g.pokeAll()
		if werr := g.await(ctx, st, changed); werr != nil {
			return errors.Join(werr, err)
		}
	}
}

// Check returns nil if the generator can issue IDs now, if need be after waiting for the
// next tick, and otherwise the reason: [ErrNotStarted], [ErrWindowEnded],
// [ErrWindowNotOpen], [ErrClockRollback], [ErrTimeExhausted], [ErrClosed]. It only looks
// and never blocks, which is what a readiness probe needs; package probe has a handler
// for it.
func (g *Generator) Check() error {
	_, err := g.anyAble()
	if err != nil {
		g.pokeAll()
	}
	return err
}

// pokeAll tells the keepers that somebody waits for IDs. Whoever waits for readiness
// sends no traffic, and without traffic nobody else tells them that a window is over.
func (g *Generator) pokeAll() {
	if g.closing.Load() {
		return
	}
	for _, st := range g.stripes {
		st.poke()
	}
}

// anyAble returns nil if any stripe could issue now, or the first one's reason.
func (g *Generator) anyAble() (*stripe, error) {
	if g.closing.Load() || len(g.stripes) == 0 {
		return nil, ErrClosed
	}
	var first error
	for _, st := range g.stripes {
		err := st.able()
		if err == nil {
			return st, nil
		}
		if first == nil {
			first = err
		}
	}
	return g.stripes[0], first
}

// Close stops the generator and gives its worker IDs back. From the moment it is
// called, no ID is issued and every call returns [ErrClosed]. It blocks until the
// worker IDs are released or ctx ends; its error says if one could not be
// released, which then becomes free when its lease ends. Give it a context that has
// not ended, with a few seconds left: the one whose end made the program stop is
// the wrong one. Then it closes [Config.Closer], also if ctx has ended. Further calls wait for the
// first one and return its result, or an error if their own ctx ends before.
func (g *Generator) Close(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	over := g.endings.wait()
	if g.closing.CompareAndSwap(false, true) {
		g.close(ctx)
	}
	if !g.ended.Load() {
		select {
		case <-over:
		case <-ctx.Done():
			return fmt.Errorf("core: closing a generator: another call of Close has not ended yet: %w",
				context.Cause(ctx))
		}
	}
	return g.endErr
}

// close is what the first call of Close does.
func (g *Generator) close(ctx context.Context) {
	errs := make([]error, len(g.stripes))
	var all sync.WaitGroup
	for i, st := range g.stripes {
		st.Shut(ErrClosed)
		all.Go(func() { errs[i] = st.keeper.Stop(ctx) })
	}
	all.Wait()
	g.starting.Wait()
	g.changed.broadcast()
	g.observer.stop()
	if err := errors.Join(append(errs, closeOwned(g.closer))...); err != nil {
		g.endErr = fmt.Errorf("core: closing a generator: %w", err)
	}
	g.ended.Store(true)
	g.endings.broadcast()
}

// tickNow reads the clock in ticks; the reading may be stale.
func (g *Generator) tickNow() int64 { return g.scale.Tick(g.clock.UnixMicro()) }

// freshTick reads the clock in ticks, past any cache.
func (g *Generator) freshTick() int64 {
	if g.fresher != nil {
		return g.scale.Tick(g.fresher.FreshUnixMicro())
	}
	return g.scale.Tick(g.clock.UnixMicro())
}

// readClock reads the clock as a time, past any cache.
func (g *Generator) readClock() time.Time {
	return time.UnixMicro(clock.Fresh(g.clock)).UTC()
}

// timeOf returns the time at which a tick begins.
func (g *Generator) timeOf(tick int64) time.Time {
	return time.UnixMicro(g.scale.Micro(tick)).UTC()
}

// id puts the ID together that a state word of t stands for.
func (g *Generator) id(t *term, word uint64) ID {
	return ID(word>>(g.rule.shift&63)<<(g.idShift&63) | t.worker | word&g.rule.last)
}
