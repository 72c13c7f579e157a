package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
)

// shortWait is the longest wait for a window at a start that is not worth a line in
// the log: a restart within a tick has one nearly always.
const shortWait = 100 * time.Millisecond

// New leases cfg.Stripes worker IDs from c and returns a generator that issues IDs with them. It
// blocks until the worker IDs are leased and their windows are open; both take a moment where a
// predecessor's window has not ended, and that is logged. So is each of c's warnings, if it
// describes itself as a [coord.AdminCoordinator] does. ctx bounds the start alone. [Start] does the
// same without blocking.
//
// The errors wrap [ErrInvalidConfig] for a wrong Config, those of package coord for
// what the coordinator refused, [ErrWindowNotOpen] if ctx ended
// while the window was still in the future, and ctx's own error. New waits where that
// helps, and the log says for what and how long: for [Config.StartTimeout] while the
// coordinator is not reachable, and while every worker ID is held and a lease may end,
// which is [coord.ErrNoWorkerID] at its end; until a quarantine is over; and, if the clock
// differs from those of holders who may be dead, until their leases have ended. After an
// error nothing is left leased, unless the coordinator cannot be reached or its
// answer was still under way: such a lease ends by itself after its TTL.
//
// The generator closes c only if c is [Config.Closer]; otherwise close c after the generator.
func New(ctx context.Context, c coord.Coordinator, cfg Config) (*Generator, error) {
	if ctx == nil {
		return nil, errors.Join(errNoContext, closeOwned(cfg.Closer))
	}
	g, s, err := prepare(c, cfg)
	if err != nil {
		return nil, errors.Join(err, closeOwned(cfg.Closer))
	}
	if err := g.start(ctx); err != nil {
		// Giving back what was leased must not depend on the context that ended.
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Lease.TTL)
		defer cancel()
		return nil, errors.Join(err, g.Close(tidy))
	}
	return g, nil
}

// Start returns at once a generator that leases its worker IDs in the background, so
// that a service can listen, and say why it is not ready, while its coordinator is
// away. Until the first worker ID is leased, Next and [Generator.Check] return
// [ErrNotStarted] with the reason, and NextContext, Fill and [Generator.Ready] wait. It
// goes on trying until it succeeds or Close is called, whatever the coordinator
// answers; Config.OnChange is called when that changes something, and the log says what
// is waited for. The only error is [ErrInvalidConfig]. What New says of closing c holds here too.
func Start(c coord.Coordinator, cfg Config) (*Generator, error) {
	g, _, err := prepare(c, cfg)
	if err != nil {
		return nil, errors.Join(err, closeOwned(cfg.Closer))
	}
	for _, st := range g.stripes {
		st.keeper.Begin() //mutant:start-at-once
	}
	g.observer.start()
	g.starting.Go(func() {
		// Close ends it; what it waits for is in the log, and in Health
		_ = g.awaitOpen(context.Background())
	})
	return g, nil
}

// prepare checks cfg and makes a generator with its keepers, none of which runs yet.
func prepare(c coord.Coordinator, cfg Config) (*Generator, settings, error) {
	s, err := cfg.resolve(c)
	if err != nil {
		return nil, s, err
	}
	g := newGenerator(&s)
	g.coordinator = c
	g.warnings = append(slices.Clip(coord.Describe(c).Warnings), s.stateFileWarnings()...)
	g.closer = cfg.Closer
	for _, w := range g.warnings {
		g.log.Warn("the coordinator, as it is configured, does not protect against everything", "warning",
			w)
	}
	for i, st := range g.stripes {
		cfg := keeper.Config{
			Coordinator:  c,
			Gate:         st,
			Clock:        s.Clock,
			Logger:       s.Logger,
			Lease:        s.Lease,
			Request:      s.request(i),
			Horizon:      s.horizon,
			Limit:        s.rule.limit,
			CatchUp:      s.rule.catchUp,
			StartTimeout: s.StartTimeout,
			OnCall:       g.calls.report,
			Place:        s.Place,
		}
		if s.StateFile != "" {
			cfg.File = s.stateFile(i)
		}
		st.keeper = keeper.New(cfg)
	}
	return g, s, nil
}

// maxStarts is how many stripes acquire a worker ID at the same time. A slow back end answers 64
// calls before they time out, but perhaps none of 1,024.
const maxStarts = 64

// start leases all worker IDs and waits until their windows are open. After one stripe has failed,
// no further stripe tries.
func (g *Generator) start(ctx context.Context) error {
	errs := make([]error, len(g.stripes))
	places := make(chan struct{}, maxStarts)
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for i, st := range g.stripes {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if first := failed.Load(); first != nil {
				errs[i] = *first
				return
			}
			if errs[i] = st.keeper.Start(ctx); errs[i] != nil {
				failed.Store(&errs[i])
			}
		})
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
		return fmt.Errorf("no worker ID for %d of the %d stripes, each of which takes one: %w",
			len(failed), len(errs), failed[0])
	}
	return failed[0]
}

// awaitOpen waits until every stripe can issue, and says how long their windows are
// waited for and when they are open. What else may be lacking is the keepers' to tell.
func (g *Generator) awaitOpen(ctx context.Context) error {
	var opening opening
	errs := make([]error, len(g.stripes))
	var all sync.WaitGroup
	for i, st := range g.stripes {
		all.Go(func() { errs[i] = g.awaitStripe(ctx, st, &opening) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if opening.began.IsZero() {
		return nil
	}
	g.log.Warn("the issue window is open", "after",
		g.readClock().Sub(opening.began).Round(time.Millisecond))
	return nil
}

// awaitStripe waits until one stripe can issue.
func (g *Generator) awaitStripe(ctx context.Context, st *stripe, o *opening) error {
	for {
		changed := g.changed.wait()
		err := st.able()
		if err == nil || errors.Is(err, ErrTimeExhausted) || errors.Is(err, ErrClosed) {
			return err
		}
		if notOpen, ok := errors.AsType[*WindowNotOpenError](err); ok && o.news(notOpen, g.readClock()) {
			g.log.Warn("waiting for the issue window to open", "worker_id", notOpen.WorkerID, "for",
				notOpen.wait(), "opens", notOpen.Opens, "reason", err,
				"hint", "before the first start of all, 'unalike init --coordinator URL', or fresh=true with "+
					"a static state file, spares the wait")
		}
		if err := g.await(ctx, st, changed); err != nil {
			return errors.Join(err, st.able())
		}
	}
}

// opening is what the log has of the windows that a start waits for.
type opening struct {
	mu    sync.Mutex
	until time.Time // when the last of them opens
	began time.Time // of the first wait; zero: there was none
}

// news reports whether a wait is worth a line: it is the longest one so far.
func (o *opening) news(notOpen *WindowNotOpenError, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if notOpen.wait() <= shortWait || notOpen.Opens.Before(o.until.Add(shortWait)) {
		return false
	}
	o.until = notOpen.Opens
	if o.began.IsZero() {
		o.began = now
	}
	return true
}
