package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/logs"
)

// Settings are what a driver makes a coordinator of.
type Settings struct {
	Driver    string // for error messages
	Title     string // what the log calls the back end
	Namespace string
	// Place is the text of [coord.Description]; empty: not known.
	Place string
	Lease coord.LeaseConfig
	// MinTTL is the shortest TTL, and MaxHorizon the longest horizon: a constant of the
	// driver, because after a loss of data it may be all that is known of the windows that
	// were lost.
	MinTTL, MaxHorizon time.Duration
	// ShortOnly says why no namespace can be declared with a longer horizon; empty: it can.
	ShortOnly string
	// SkewBound is how far clocks may be apart. It is less than MaxHorizon.
	SkewBound time.Duration
	// OneMachine says that there is one clock, and none to compare it with.
	OneMachine bool
	// ServerClock says that the back end has a clock, see [Session.Time].
	ServerClock bool
	// Forgets says that the back end may lose all that it has and look as if it were new: a
	// namespace that is made begins with the floor of a loss. [Coordinator.Init] ends that if
	// nothing was granted in it and no holder has shown a grant that was forgotten.
	//
	// Windows then end at most MaxHorizon ahead of the back end's clock, if it has one, so that
	// the store can refuse those that end later in the step that writes. And the floor is
	// raised only by a process whose clock agrees with the back end's.
	Forgets bool
	// Outlives says that leases outlive a restart of the back end, and come back together with
	// an old copy of its data: what the leases say has to be believed only after a holder has
	// shown a sign of life. The owner marks tell when that was, or [Session.Leases].
	Outlives bool
	Clock    clock.Clock
	Logger   *slog.Logger
	// Random returns a random number from 0 to limit - 1. Nil: that of math/rand.
	Random func(limit int64) int64
	// CheckTTL refuses a TTL that the back end cannot keep. Nil: it keeps all.
	CheckTTL func(time.Duration) error
}

// Coordinator implements the protocol of package coord over a [Store]. It is safe for
// concurrent use, and one serves any number of generators. Drivers embed it.
type Coordinator struct {
	set      Settings
	store    Store
	log      *slog.Logger
	life     *lifetime.Life
	detector *detector
	clocks   *clocks
	raising  chan struct{} // held while the floor is raised, so that it is raised once

	mu      sync.Mutex // guards what follows
	tenants map[string]*tenant
	watches map[watchKey]*watched
	looked  map[int]lastLook // at the leases of holders
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.Describer   = (*Coordinator)(nil)
	_ coord.Notifier    = (*Coordinator)(nil)
	_ coord.Admin       = (*Coordinator)(nil)
	_ coord.Resumer     = (*Coordinator)(nil)
)

// New returns a coordinator over a store. Errors wrap [coord.ErrInvalid].
func New(store Store, s Settings) (*Coordinator, error) {
	if s.Random == nil {
		s.Random = rand.Int64N
	}
	c := &Coordinator{
		set: s, store: store, log: logs.Or(s.Logger),
		detector: newDetector(s.MaxHorizon, s.SkewBound),
		clocks:   &clocks{bound: s.SkewBound, oneMachine: s.OneMachine},
		raising:  make(chan struct{}, 1),
		tenants:  map[string]*tenant{},
		watches:  map[watchKey]*watched{},
		looked:   map[int]lastLook{},
	}
	rules := c.rules()
	rules.Surviving = true // nobody knows yet whether holders do
	if _, err := driver.ResolveLease(rules, coord.LeaseConfig{}); err != nil {
		return nil, err
	}
	c.life = lifetime.Begin(s.Driver, s.Namespace)
	return c, nil
}

// Describe implements [coord.Describer].
func (c *Coordinator) Describe() coord.Description {
	return coord.Description{Rules: c.rules(), Place: c.set.Place}
}

func (c *Coordinator) rules() coord.LeaseRules {
	rules := coord.LeaseRules{Set: c.set.Lease, MinTTL: c.set.MinTTL, MaxHorizon: c.set.MaxHorizon}
	if c.set.ShortOnly == "" {
		rules.MaxDeclared = coord.LongestHorizon
	}
	if known := c.detector.known(); known != nil {
		rules.Declared = known.Horizon(0)
	}
	return rules
}

// usualTTL is the TTL of a lease of which nothing is known.
func (c *Coordinator) usualTTL() time.Duration { return cmp.Or(c.set.Lease.TTL, coord.DefaultTTL) }

// Life is the life of the coordinator, for what a store does in the background.
func (c *Coordinator) Life() *lifetime.Life { return c.life }

// Acquire implements [coord.Coordinator].
func (c *Coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := c.checkRequest(req); err != nil {
		return coord.Grant{}, err
	}
	var g coord.Grant
	err := c.life.Do(ctx, "acquire a worker ID", func(ctx context.Context) (err error) {
		g, err = c.acquire(ctx, req)
		return err
	})
	return g, err
}

// Renew implements [coord.Coordinator]. The lease is kept alive, or put back, with the
// same step.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	var r coord.Grant
	err := c.life.Do(ctx, fmt.Sprintf("renew worker ID %d", g.WorkerID), func(ctx context.Context) (err error) {
		r, err = c.renew(ctx, g, g.Token, until)
		return err
	})
	return r, err
}

// Resume implements [coord.Resumer].
func (c *Coordinator) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	if err := driver.CheckResume(g, token); err != nil {
		return coord.Grant{}, err
	}
	var r coord.Grant
	err := c.life.Do(ctx, fmt.Sprintf("resume worker ID %d", g.WorkerID), func(ctx context.Context) (err error) {
		if r, err = c.renew(ctx, g, token, until); err == nil {
			c.unwatch(g)
		}
		return err
	})
	return r, err
}

// Release implements [coord.Coordinator].
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	return c.life.Do(ctx, fmt.Sprintf("release worker ID %d", g.WorkerID), func(ctx context.Context) error {
		return c.release(ctx, g, last)
	})
}

// Close ends what this coordinator has under way. It releases no worker ID. Calls after
// it return [coord.ErrClosed].
func (c *Coordinator) Close() error {
	c.life.End()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tenants {
		if t.idle != nil {
			t.idle.Stop()
		}
	}
	return nil
}

// checkRequest reports whether this driver can serve a request at all.
func (c *Coordinator) checkRequest(req coord.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if c.set.CheckTTL != nil {
		if err := c.set.CheckTTL(req.TTL); err != nil {
			return err
		}
	}
	if req.TTL < c.set.MinTTL {
		return fmt.Errorf("%w: TTL is %v; %s needs at least %v", coord.ErrInvalid, req.TTL, c.set.Driver, c.set.MinTTL)
	}
	return lifetime.CheckHorizon(req, c.rules())
}

// now reads this machine's clock, in microseconds since 1970.
func (c *Coordinator) now() int64 { return clock.Fresh(c.set.Clock) }

// seen is the time of what is seen now: this machine's, unless the back end's clock says
// that it is wrong.
func (c *Coordinator) seen(s Session) int64 {
	now, _, _ := c.clocks.forFloor(c.now(), s.Time(), nil) // there is no holder to be read
	return now
}

// pause waits before a call looks again for the n-th time, counted from 0, because others
// were faster. It returns ctx's error if ctx has ended or ends.
func (c *Coordinator) pause(ctx context.Context, n int) error {
	return lifetime.PauseBy(ctx, n, c.set.Random)
}

// survey makes a survey of a session, and takes note of what it shows.
func (c *Coordinator) survey(ctx context.Context, s Session, ask Ask) (*Survey, error) {
	at, began := c.detector.sight(), lifetime.Now()
	made := at // before it was known what the namespace is to be made with
	if anew := ask.New; anew != nil {
		ask.New = func(now int64) Meta {
			made = c.detector.sight()
			return anew(now)
		}
		ask.Again = func(now, floor int64) Meta { return c.madeFrom(ask.New(now), now, floor) }
	}
	sv, err := s.Survey(ctx, ask)
	if err != nil {
		return nil, err
	}
	sv.era, sv.at, sv.began, sv.ended = at.era, at, began, lifetime.Now()
	now := c.seen(s)
	if sv.Made && sv.Meta.Record.Loss.Nonce != "" {
		// This is how the loss of the old one is dealt with: it was made with a floor.
		if era, ok := c.detector.forgive(made, sv.Position, sv.Meta, now); ok {
			sv.era = era
			c.madeAgain(sv)
			return sv, nil
		}
	}
	if sv.Origin != "" && sv.Origin != sv.Lineage {
		c.detector.foreign(at.era, sv.Origin, sv.Lineage, now)
	}
	c.detector.learn(at, sv.Position, &sv.Meta, now)
	return sv, nil
}

// madeAgain takes note that a survey has made a namespace again that was gone.
func (c *Coordinator) madeAgain(sv *Survey) {
	if sv.Server == 0 && !c.set.OneMachine { // nobody's clock could be compared
		c.clocks.setDoubt(doubt{number: sv.Number, when: lifetime.Now(), mine: true, loss: sv.Meta.Record.Loss.Nonce})
	}
	c.log.Error("the namespace was gone; it is made again, and nothing is granted until the windows that may be lost with it are over",
		"namespace", c.set.Namespace, "until", sv.Meta.Record.floorEnds())
}

// look reads a view in a session, and takes note of what it shows.
func (c *Coordinator) look(ctx context.Context, s Session, worker int, token string) (*View, error) {
	at := c.detector.sight()
	v, err := s.Look(ctx, worker, token)
	if err != nil {
		return nil, err
	}
	c.noteView(at, v, c.seen(s))
	return v, nil
}

// noteView takes note of what a view shows that was read after a sight.
func (c *Coordinator) noteView(at *sight, v *View, now int64) {
	v.era, v.seen = at.era, now
	if v.Origin != "" && v.Origin != v.Lineage {
		c.detector.foreign(at.era, v.Origin, v.Lineage, now)
	}
	meta := &v.Meta
	if v.Kept {
		meta = nil
	}
	c.detector.learn(at, v.Position, meta, now)
}

// commit makes a change in a session, and takes note of what its outcome shows. Unsound
// says that it shows a loss, or that one was noticed since what the change is based on was
// read: what was done may not be used.
func (c *Coordinator) commit(ctx context.Context, s Session, change Change) (out Outcome, unsound bool, err error) {
	at := c.detector.sight()
	if out, err = s.Commit(ctx, change); err != nil {
		return out, false, err
	}
	now := c.seen(s)
	c.detector.learn(at, out.Position, nil, now)
	if out.Now != nil {
		c.noteView(at, out.Now, now)
	}
	return out, !c.detector.sound(change.Before.era), nil
}

// errAgain says that somebody else was faster.
var errAgain = errors.New("what is stored changed meanwhile")

// unclear is the error of a write of which not even reading tells whether it was done.
func unclear(write, read error) error {
	if read.Error() == write.Error() {
		return write
	}
	return fmt.Errorf("%w (what became of it is not known: %w)", write, read)
}

// floorEnds prints when the floor is passed.
func (m Meta) floorEnds() string { return Stamp(m.Scale().Micro(m.Floor + 1)) }

// NamespaceNonce is that of the namespace as the view shows it, see [coord.Namespace]. With a
// grant comes that of the namespace in which it was made, which costs no call.
func (v *View) NamespaceNonce() string { return v.Meta.Record.Nonce }

// viewOf returns the view that comes with a grant; nil if there is none, or it is not of
// this grant.
func viewOf(g coord.Grant) *View {
	v, ok := g.Handle.(*View)
	if !ok || v == nil || v.Slot.Record.Worker != g.WorkerID || !v.Slot.Record.Holds(g.Token, g.Generation) {
		return nil
	}
	return v
}
