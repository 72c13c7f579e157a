package keeper

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// Gate is a generator's place for one worker ID. The keeper is its only writer,
// but for Shut, which the generator calls as well when it is closed. Calls do not
// block.
type Gate interface {
	// Swap closes the term in use, if there is one, and then publishes a new one. If
	// the generator was closed meanwhile, nothing is published and ok is false. The
	// last tick that the closed term stamped is returned in either case.
	Swap(t Term) (last int64, ok bool)
	// Extend moves the end of the window of the term in use, never back.
	Extend(notAfter int64)
	// Shut closes the gate until the next Swap, for the given reason, and returns the
	// last tick stamped.
	Shut(reason error) (last int64)
	// Explain tells why the window does not grow; nil: it does.
	Explain(reason error)
	// Last returns the tick of the last ID stamped, by the term in use or by the one
	// before if the term began above that; or else the tick that the term began after.
	// Which of them is what stamped tells.
	Last() (tick int64, stamped bool)
	// Notice asks the generator to look whether its health has changed.
	Notice()
}

// Term is what a keeper publishes at a gate.
type Term struct {
	Grant coord.Grant
	// Heal says that the clock stepped back: the term begins at its own NotBefore,
	// although the last one went further.
	SteppedBack bool
}

// Config is what a keeper works with. All fields but Logger are required.
type Config struct {
	Coordinator coord.Coordinator
	Gate        Gate
	Clock       clock.Clock
	Logger      *slog.Logger
	Lease       coord.LeaseConfig // resolved: every time is set
	Request     coord.Request     // what stays the same for every acquisition
	Horizon     int64             // in ticks
	// Limit is how far the clock may be behind the last ID, in ticks, while IDs are issued.
	Limit int64
	// CatchUp is how far it may be behind, in ticks, while the keeper waits for the clock. It is
	// at least Limit. If the clock is further behind, the keeper leases another worker ID.
	CatchUp int64
	// StartTimeout is how long Start goes on. 0: a lease and 5 s; negative: without end.
	StartTimeout time.Duration
	// File, if not nil, keeps the grant for a successor, which goes on with it while the coordinator
	// is away. The coordinator must be a [coord.Resumer].
	File File
	// Place is the address of the namespace. Without it a File does not serve while the coordinator
	// is away.
	Place string
	// OnCall, if not nil, is called after each call to the coordinator.
	OnCall func(coord.Call)
}

// Keeper leases one worker ID and keeps it. Make one with [New], start it once,
// and stop it.
type Keeper struct {
	cfg    Config
	log    *slog.Logger
	poke   chan struct{}           // the generator asks for a look
	ctx    context.Context         // ends when the keeper is to stop
	cancel context.CancelFunc      // ends ctx
	hurry  context.Context         // ends when whoever stops the keeper waits no longer
	rush   context.CancelCauseFunc // ends hurry, and says why
	done   chan struct{}           // closed when the loop has ended; nil before Start
	result error                   // of the release; read after done
	leased atomic.Bool             // there is a worker ID to give back

	// What follows belongs to the loop.
	held     bool
	remains  bool          // the grant was lost, and its windows are used to their end
	token    string        // of the acquisition; empty: none, or its outcome is known
	pending  bool          // it may have leased a worker ID
	grant    coord.Grant   // as the last renewal returned it
	pieces   []coord.Grant // the piece in use, then those held back; empty if not held
	openedAt int64         // the clock when the term in use was asked for or published
	lost     <-chan struct{}
	renewAt  time.Time // when to renew, by the machine's monotonic clock
	urgedAt  time.Time // when it renewed ahead of time
	retries  backoff   // between failed renewals
	waiting  waiting   // between failed acquisitions
	outage   outage    // why the window does not grow, as far as the log has it
	why      error     // why the window does not grow, as callers get it
	without  time.Time // since when there has been no worker ID
	told     bool      // the log says that one is waited for
	giveUp   time.Time // when Start ends in vain; zero: it does not, or it is over
	bound    time.Time // when Start's context ends; zero likewise

	replies      Deadline       // of renewals and releases
	acquisitions Deadline       // of acquisitions
	calls        []*renewal     // under way, at most two
	answers      chan reply     // to those
	unanswered   bool           // the last renewal that was begun has no reply yet
	renewing     atomic.Int64   // calls of Renew that have not returned, those that were given up too
	seeking      *seeking       // an acquisition next to the worker ID in use; nil: none is under way
	sought       chan acquired  // the result of that
	soughtInVain bool           // it failed since another worker ID is needed
	background   sync.WaitGroup // calls that the loop does not wait for
	file         *stateFile     // nil: there is none
	diskRetries  backoff        // between failed saves
}

// New returns a keeper that does nothing yet.
func New(cfg Config) *Keeper {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{
		cfg: cfg, log: cfg.Logger, poke: make(chan struct{}, 1), answers: make(chan reply),
		sought: make(chan acquired, 1),
	}
	if cfg.File != nil {
		k.file = &stateFile{File: cfg.File, calls: make(chan error, 1)}
		k.diskRetries = newBackoff(MarkAhead / 6)
	}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.hurry, k.rush = context.WithCancelCause(context.Background())
	k.retries = newBackoff(cfg.Lease.RenewEvery)
	k.waiting = newWaiting(cfg.Lease.RenewEvery)
	k.replies = RenewDeadline(cfg.Lease.RenewEvery, cfg.Lease.TTL)
	k.acquisitions = acquireDeadline(cfg.Lease.RenewEvery, cfg.Lease.TTL)
	return k
}

// Poke asks the keeper to look at the clock and at its lease: the generator has
// refused an ID. It does not block, and it is safe for concurrent use.
func (k *Keeper) Poke() {
	select {
	case k.poke <- struct{}{}:
	default: // it will look anyway
	}
}

// Stop ends the loop and gives the worker ID back. The gate must have been shut.
// It blocks until the worker ID is released or ctx ends, in which case the lease
// ends by itself after its TTL. Stop of a keeper that was not started does
// nothing. It may be called more than once, though not while Start is under way.
func (k *Keeper) Stop(ctx context.Context) error {
	k.cancel()
	if k.done == nil {
		k.rush(nil)
		return nil
	}
	defer context.AfterFunc(ctx, func() { k.rush(context.Cause(ctx)) })()
	select {
	case <-k.done:
		return k.result
	case <-ctx.Done():
	}
	select {
	case <-k.done: // it was over already
		return k.result
	default:
		if !k.leased.Load() {
			return cutOff(context.Cause(ctx))
		}
		return fmt.Errorf("worker ID not released, it becomes free when its lease ends: %w",
			context.Cause(ctx))
	}
}

// explain has callers get the reason for which there are no IDs soon: that of the file if its mark
// ends before the window, else why.
func (k *Keeper) explain(why error) {
	k.why = why
	if k.file != nil && k.file.err != nil {
		why = k.file.err
	}
	k.cfg.Gate.Explain(why)
}

// now reads the clock in ticks.
func (k *Keeper) now() int64 { return k.cfg.Request.Scale.Tick(clock.Fresh(k.cfg.Clock)) }

// until is the end of the window to ask for at tick now.
func (k *Keeper) until(now int64) int64 {
	last := k.cfg.Request.LastTick
	if now >= last-k.cfg.Horizon {
		return last
	}
	return max(now+k.cfg.Horizon, 0)
}

// attempt returns the context of one call to the coordinator. It goes on for a
// moment after the keeper was told to stop, because a call that is cut off leaves
// a worker ID leased that nobody uses.
func (k *Keeper) attempt(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(k.hurry, limit)
}

// newToken names an acquisition attempt: 128 random bits.
func newToken() string { return rand.Text() }

// sleep waits for d or the end of ctx, and tells whether it was d.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
