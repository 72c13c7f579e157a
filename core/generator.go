package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
)

// shortWait is the longest wait for a window at a start that is not worth a line in
// the log: a restart within a tick has one nearly always.
const shortWait = 100 * time.Millisecond

// Generator issues IDs. All its methods are safe for concurrent use. It leases
// worker IDs until it is closed, so close it: that frees them at once instead of
// after the lease's TTL.
type Generator struct {
	// Read on every call, and not written after New.
	clock     clock.Clock
	fresher   clock.Fresher // the clock, if its reading may be stale
	scale     clock.Scale
	rule      rule
	idShift   uint8 // worker and sequence bits together
	tolerance time.Duration
	stripes   []*stripe
	hints     sync.Pool // of *hint: the stripe that served this processor last
	nextHint  atomic.Uint32
	log       *slog.Logger

	_ [cacheLine]byte
	// Written when a tick is left, at most once a tick and worker ID.
	counted atomic.Uint64 // IDs of the ticks that were left
	_       [cacheLine]byte

	// The rest is off the hot path.
	refused   [verdicts]atomic.Uint64
	rollbacks atomic.Uint64
	closing   atomic.Bool // set first by Close: nothing is published any more
	changed   signal      // something about the terms changed
	edges     edges       // who waits for the clock
	warnings  []string    // of the coordinator, standing
	reported  reported    // what Health said last
	observer  observer    // calls OnChange
	end       sync.Once
	endErr    error
}

// New leases cfg.Stripes worker IDs from c and returns a generator that issues IDs
// with them. It blocks until the worker IDs are leased and their windows are open;
// both take a moment where a predecessor's window has not ended, and that is
// logged. So is each of c's warnings, if it is a [coord.Warner]. ctx bounds the start alone.
//
// The errors wrap [ErrInvalidConfig] for a wrong Config, those of package coord for
// what the coordinator refused, which ends New at once, [ErrWindowNotOpen] if ctx ended
// while the window was still in the future, and ctx's own error. New waits where that
// helps, and the log says for what: an unreachable coordinator is tried again for as
// long as the lease's TTL and 5 s, a quarantine is waited out, and where every worker ID
// is held and a holder is late with its renewal, or the clock differs from those of
// holders who may be dead, New waits until their leases have ended, at most a TTL and
// 5 s. While no holder is late, or once the one that was late renews, New returns
// [coord.ErrNoWorkerID]. After an
// error nothing is left leased, unless the coordinator cannot be reached or its
// answer was still under way: such a lease ends by itself after its TTL.
//
// The generator never closes c. Close c after the generator.
func New(ctx context.Context, c coord.Coordinator, cfg Config) (*Generator, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	s, err := cfg.resolve(c)
	if err != nil {
		return nil, err
	}
	g := newGenerator(&s)
	if w, ok := c.(coord.Warner); ok {
		g.warnings = w.Warnings()
	}
	for _, w := range g.warnings {
		g.log.Warn("the coordinator, as it is configured, does not protect against everything", "warning", w)
	}
	for i, st := range g.stripes {
		st.keeper = keeper.New(keeper.Config{
			Coordinator: c,
			Gate:        st,
			Clock:       s.Clock,
			Logger:      s.Logger,
			Lease:       s.Lease,
			Request:     s.request(i),
			Horizon:     s.horizon,
			Limit:       s.rule.limit,
		})
	}
	if err := g.start(ctx); err != nil {
		// Giving back what was leased must not depend on the context that ended.
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Lease.TTL)
		defer cancel()
		return nil, errors.Join(err, g.Close(tidy))
	}
	return g, nil
}

// newGenerator puts a generator together, with no term yet.
func newGenerator(s *settings) *Generator {
	g := &Generator{
		clock:     s.Clock,
		scale:     s.Layout.scale(),
		rule:      s.rule,
		idShift:   s.Layout.WorkerBits + s.Layout.SequenceBits,
		tolerance: s.RollbackTolerance,
		log:       s.Logger,
	}
	g.fresher, _ = s.Clock.(clock.Fresher)
	g.hints.New = func() any {
		// The remainder comes before the conversion: an int of 32 bits ends at 2^31.
		return &hint{at: int((g.nextHint.Add(1) - 1) % uint32(len(g.stripes)))}
	}
	for range s.Stripes {
		g.stripes = append(g.stripes, &stripe{g: g})
	}
	g.observer.init(g, s.OnChange)
	return g
}

// start leases all worker IDs and waits until their windows are open.
func (g *Generator) start(ctx context.Context) error {
	errs := make([]error, len(g.stripes))
	var all sync.WaitGroup
	for i, st := range g.stripes {
		all.Go(func() { errs[i] = st.keeper.Start(ctx) })
	}
	all.Wait()
	err := startError(errs)
	if err == nil {
		err = g.awaitOpen(ctx)
	}
	if err != nil {
		return fmt.Errorf("core: starting a generator: %w", err)
	}
	g.observer.start()
	return nil
}

// startError returns the first of the errors with which the keepers of the stripes
// have started, because they are alike; nil if there is none. If worker IDs are
// lacking, the number of stripes may be the reason, so the error names it.
func startError(errs []error) error {
	failed := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(failed) == 0 {
		return nil
	}
	if len(errs) > 1 && errors.Is(failed[0], coord.ErrNoWorkerID) {
		return fmt.Errorf("no worker ID for %d of the %d stripes, each of which takes one: %w", len(failed), len(errs), failed[0])
	}
	return failed[0]
}

// awaitOpen waits until every stripe can issue, and says why it waits.
func (g *Generator) awaitOpen(ctx context.Context) error {
	for _, st := range g.stripes {
		logged := false
		for {
			changed := g.changed.wait()
			err := st.able()
			if err == nil {
				break
			}
			if errors.Is(err, ErrTimeExhausted) {
				return err
			}
			if !logged && !opensSoon(err) {
				logged = true
				g.log.Warn("waiting for the issue window to open", "reason", err,
					"hint", "before the first start of all, 'unalike init --coordinator URL', or fresh=true with a static state file, spares the wait")
			}
			if err := g.await(ctx, st, changed); err != nil {
				return errors.Join(err, st.able())
			}
		}
	}
	return nil
}

// opensSoon reports whether a stripe cannot issue because its window opens within
// shortWait.
func opensSoon(err error) bool {
	var e *WindowNotOpenError
	if !errors.As(err, &e) {
		return false
	}
	wait := e.Opens.Sub(e.Now)
	return wait > 0 && wait <= shortWait
}

// await blocks until something changes that could make st able to issue: its
// keeper changed something, or its window opens.
func (g *Generator) await(ctx context.Context, st *stripe, changed <-chan struct{}) error {
	opens := g.scale.Micro(g.rule.tick(st.term.Load().start) + 1 - g.rule.lead)
	if now := clock.Fresh(g.clock); opens <= now {
		// Not the opening is what it waits for. The keeper says when there is more.
		opens = now + time.Hour.Microseconds()
	}
	ring, stop := clock.Alarm(g.clock, opens)
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
// on. With a context that has ended it only looks, which suits a readiness probe.
// After Close it returns [ErrClosed].
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
		// Whoever waits for readiness sends no traffic, and without traffic nobody else
		// tells the keepers that a window is over.
		for _, st := range g.stripes {
			st.poke()
		}
		if werr := g.await(ctx, st, changed); werr != nil {
			return errors.Join(werr, err)
		}
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
// the wrong one. Further calls wait for the first one and return its result. It does
// not close the coordinator.
func (g *Generator) Close(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	g.end.Do(func() {
		g.closing.Store(true)
		errs := make([]error, len(g.stripes))
		var all sync.WaitGroup
		for i, st := range g.stripes {
			st.Shut(ErrClosed)
			all.Go(func() { errs[i] = st.keeper.Stop(ctx) })
		}
		all.Wait()
		g.changed.broadcast()
		g.observer.stop()
		if err := errors.Join(errs...); err != nil {
			g.endErr = fmt.Errorf("core: closing a generator: %w", err)
		}
	})
	return g.endErr
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
	s := g.rule.shift
	return ID(word>>s<<g.idShift | t.worker | word&(1<<s-1))
}
