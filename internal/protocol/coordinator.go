package protocol

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/internal/spelling"
)

// Settings are what a driver makes a coordinator of.
type Settings struct {
	Driver    string // for error messages
	Title     string // what the log calls the back end
	Namespace string
	// Place is the text of [coord.Description]; empty: not known.
	Place string
	// Warnings are those of [coord.Description].
	Warnings []string
	Lease    coord.LeaseConfig
	// Default are the times of the lease that are not set, see [coord.LeaseRules].
	Default coord.LeaseConfig
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
	// Endless says that a lease ends with the process that has it, and not before.
	Endless bool
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
	// InOrder says that the first free worker ID of a share is granted, because the share was
	// configured for this machine. Otherwise the search begins anywhere.
	InOrder bool
	// Outlives says that leases outlive a restart of the back end, and come back together with
	// an old copy of its data: what the leases say has to be believed only after a holder has
	// shown a sign of life. The owner marks tell when that was, or [Session.Leases].
	Outlives bool
	// Clock is this machine's. Its witness is the machine's uptime if it is the system's. Any other
	// clock may run at its own rate, and has a witness if it has a method Uptime() time.Duration.
	Clock  clock.Clock
	Logger *slog.Logger
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
	witness  witness
	tooLate  atomic.Int64 // nanoseconds that the last change with a deadline took; 0: it was done
	free     func() error // closes the store, once

	mu      sync.Mutex // guards what follows
	tenants map[string]*tenant
	watches map[coord.Grant]*watched
	silence silence // of the holders
}

// Full has the methods of a [Coordinator] that generators and operators use.
type Full interface {
	coord.AdminCoordinator
	coord.Notifier
	coord.Waiter
	coord.Resumer
}

var _ Full = (*Coordinator)(nil)

// Public returns the results of [New] as the constructors of drivers do.
func Public(c *Coordinator, err error) (coord.AdminCoordinator, error) {
	if err != nil {
		return nil, err // not a nil *Coordinator in an interface that is not nil
	}
	return c, nil
}

// New returns a coordinator over a store. Errors wrap [coord.ErrInvalid].
func New(store Store, s Settings) (*Coordinator, error) {
	if s.Random == nil {
		s.Random = mathrand.Int64N
	}
	c := &Coordinator{
		set: s, store: store, log: logs.Or(s.Logger),
		detector: &detector{limits: Limits{s.MaxHorizon, s.SkewBound}},
		tenants:  map[string]*tenant{},
		watches:  map[coord.Grant]*watched{},
		silence:  silence{},
	}
	if own, ok := s.Clock.(interface{ Uptime() time.Duration }); ok {
		c.witness.uptime = own.Uptime
	} else if s.Clock == clock.System() || s.Clock == clock.Coarse() {
		c.witness.uptime = lifetime.Uptime
	}
	c.witness.bound = s.SkewBound
	rules := c.rules()
	rules.Surviving = true // nobody knows yet whether holders do
	if _, err := rules.Resolve(coord.LeaseConfig{}); err != nil {
		return nil, err
	}
	c.life = lifetime.Begin(s.Driver, s.Namespace)
	c.free = func() error { return nil }
	if owner, ok := store.(io.Closer); ok {
		c.free = sync.OnceValue(owner.Close)
	}
	return c, nil
}

// Describe implements [coord.AdminCoordinator].
func (c *Coordinator) Describe() coord.Description {
	return coord.Description{Rules: c.rules(), Place: c.set.Place, Warnings: c.set.Warnings}
}

func (c *Coordinator) rules() coord.LeaseRules {
	rules := coord.LeaseRules{
		Set: c.set.Lease, Default: c.set.Default, MinTTL: c.set.MinTTL,
		MaxHorizon: c.set.MaxHorizon,
	}
	if c.set.ShortOnly == "" {
		rules.MaxDeclared = coord.LongestHorizon
	}
	rules.Declared = c.detector.observation().meta.Horizon(0)
	return rules
}

// usualTTL is the TTL of a lease of which nothing is known.
func (c *Coordinator) usualTTL() time.Duration {
	return cmp.Or(c.set.Lease.TTL, c.set.Default.TTL, coord.DefaultTTL)
}

// Store returns the store, for the tests of drivers.
func (c *Coordinator) Store() Store { return c.store }

// Life is the life of the coordinator, for what a store does in the background.
func (c *Coordinator) Life() *lifetime.Life { return c.life }

// Close ends what this coordinator has under way, and closes its store if that is an [io.Closer].
// It releases no worker ID. Calls after it return [coord.ErrClosed].
func (c *Coordinator) Close() error {
	c.life.End()
	c.mu.Lock()
	for _, t := range c.tenants {
		t.idle.Stop()
	}
	c.mu.Unlock()
	return c.free()
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
		return invalid.Errorf("TTL is %v; %s needs at least %v", req.TTL, c.set.Driver,
			c.set.MinTTL)
	}
	return lifetime.CheckHorizon(req, c.rules())
}

// now reads this machine's clock, in microseconds since 1970.
func (c *Coordinator) now() int64 { return clock.Fresh(c.set.Clock) }

// seen is the latest time at which what an answer shows can have been stored: by the back end's
// clock if it has one, and by this machine's otherwise. What is seen later is settled less often.
func (c *Coordinator) seen(s Session, p Position) int64 {
	return cmp.Or(p.Server.High, s.Time().High, c.now()) //mutant:seen-late
}

// farthest is how far a right clock can have raised the floor by now, as far as the clock of the
// back end or of this machine tells: the farthest, because nothing is granted above that.
func (c *Coordinator) farthest(s Session, meta Meta) int64 {
	ahead := 2 * c.set.SkewBound
	if c.refusesLate() {
		ahead += LongestAllowance
	}
	return meta.WindowLimit(cmp.Or(s.Time().High, c.now())+ahead.Microseconds(), c.limits())
}

// pause waits before a call looks again for the n-th time, counted from 0, because others
// were faster. It returns ctx's error if ctx has ended or ends.
func (c *Coordinator) pause(ctx context.Context, n int) error {
	return lifetime.PauseBy(ctx, n, c.set.Random)
}

// survey makes a survey of a session, and takes note of what it shows. A namespace that begins
// with a floor is not made by a clock that is wrong.
func (c *Coordinator) survey(ctx context.Context, s Session, ask Ask) (*Survey, error) {
	if c.set.Forgets && ask.New != nil {
		only := ask
		only.New = nil
		if sv, err := c.survey(ctx, s, only); err != nil || sv.Meta.There() {
			return sv, err
		} else if err := c.checkClock(sv, c.now()); err != nil {
			return nil, err
		}
	}
	at, began := c.detector.observation(), lifetime.Now()
	sv, err := s.Survey(ctx, ask)
	if err != nil {
		return nil, err
	}
	sv.began, sv.ended = began, lifetime.Now()
	a := answer{Position: sv.Position, origin: sv.Origin, meta: &sv.Meta}
	now := c.seen(s, sv.Position)
	if sv.Made && sv.Meta.Record.Loss.Nonce != "" {
		// This is how the loss of the old one is dealt with: it was made with a floor.
		if losses, ok := c.detector.deal(at.losses, a, now); ok {
			sv.losses = losses
			c.madeAgain(sv.Meta.Record)
			return sv, nil
		}
	}
	sv.losses = c.observe(at, a, now) //mutant:observed-before
	if sv.Made && sv.Meta.Record.Loss.Nonce == "" {
		c.announce(sv.Others, ask.Token == "")
	}
	return sv, nil
}

// listTime bounds how long the names of other namespaces are waited for.
const listTime = 500 * time.Millisecond

// announce logs in the background that this coordinator has made the namespace. If others have
// similar names, one of them may have been meant, and this is a warning. An operator who has
// declared the namespace is only warned.
func (c *Coordinator) announce(others func(context.Context) []string, operator bool) {
	c.life.Spawn(func() {
		var similar []string
		if others != nil {
			ctx, cancel := context.WithTimeout(context.Background(), listTime)
			defer cancel()
			similar = spelling.Similar(c.set.Namespace, others(ctx))
		}
		log := c.log.With("namespace", c.set.Namespace)
		switch {
		case len(similar) > 0: //mutant:similar-names
			log.Warn("namespace created, and others have similar names",
				"similar", strings.Join(similar, ", "),
				"hint", "IDs of two namespaces can be equal; correct the name if it is a mistake")
		case !operator:
			log.Info("namespace created")
		}
	})
}

// madeAgain tells that a survey has made a namespace with the floor of a loss.
func (c *Coordinator) madeAgain(meta Meta) {
	log := c.log.With("namespace", c.set.Namespace, "until", meta.floorEnds())
	if meta.Born() {
		log.Warn("the namespace is new, or all of it was lost: nothing is granted until the windows " +
			"that may be lost with it are over; 'unalike init' before the first start spares the wait")
		return
	}
	log.Error("the namespace was gone; it is made again, and nothing is granted until the windows " +
		"that may be lost with it are over")
}

// making asks for a survey that makes the namespace if it is not there, with a record. If this
// coordinator remembers the namespace, or the back end still has something of it, it has not been
// new but lost; and unless it is declared new, it may be, in a back end that forgets.
func (c *Coordinator) making(ask Ask, meta Meta, declared bool) Ask {
	ask.Again = func(at Span, known Meta) Meta {
		m, l := c.detector.observation(), c.limits()
		if at == (Span{}) {
			at = Span{c.now(), c.now()}
		}
		meta.Nonce = rand.Text() // a request that is repeated makes another one
		meta = meta.with(known)
		switch {
		case m.meta.Nonce != "": //mutant:made-again
			meta = meta.AfterLoss(m.meta, at, l)
			meta.Loss.Nonce = cmp.Or(m.drawn, meta.Loss.Nonce)
		case known.Fingerprint != "": //mutant:known-again
			meta = meta.AfterLoss(Meta{}, at, l)
		case c.set.Forgets && !declared:
			meta = meta.afterBirth(at, l)
		}
		return meta
	}
	ask.New = func(at Span) Meta { return ask.Again(at, Meta{}) }
	return ask
}

// observe takes note of an answer, see detector. If it proves a loss, the connections may lead to
// several servers: from then on all calls use new ones.
func (c *Coordinator) observe(at observation, a answer, now int64) (losses int64) {
	losses = c.detector.observe(at, a, now)
	if at.lost == "" && c.detector.observation().lost != "" {
		c.rest() //mutant:rest-after-a-loss
	}
	return losses
}

// rest has the store close its connections, if it does that.
func (c *Coordinator) rest() {
	if r, ok := c.store.(Rester); ok {
		r.Rest()
	}
}

// look reads a view in a session, and takes note of what it shows. Mine is what was confirmed
// of it before; nil: nothing.
func (c *Coordinator) look(ctx context.Context, s Session, worker int, token string,
	mine *View,
) (*View, error) {
	at := c.detector.observation()
	v, err := s.Look(ctx, worker, token)
	if err != nil {
		return nil, err
	}
	c.note(at, v, mine, c.seen(s, v.Position))
	return v, nil
}

// note takes note of what a view shows that was asked for when at was what had been seen.
func (c *Coordinator) note(at observation, v, mine *View, now int64) {
	a := answer{Position: v.Position, origin: v.Origin}
	if !v.Kept {
		a.meta = &v.Meta
	}
	if mine != nil && mine.losses == at.losses {
		a.mine, a.slot = &mine.Slot, &v.Slot
	}
	v.losses = c.observe(at, a, now)
}

// commit makes a change in a session, and takes note of what its outcome shows; mine is as in
// look. Unsound says that it shows a loss, or that one was noticed since what the change is
// based on was read: what was done may not be used.
func (c *Coordinator) commit(ctx context.Context, s Session, change Change,
	mine *View,
) (out Outcome, unsound bool, err error) {
	at := c.detector.observation()
	if out, err = s.Commit(ctx, change); err != nil {
		return out, false, err
	}
	now := c.seen(s, out.Position)
	c.observe(at, answer{Position: out.Position}, now)
	if out.Now != nil {
		c.note(at, out.Now, mine, now)
	}
	return out, !c.detector.sound(change.Before.losses), nil //mutant:change-before-a-loss
}

// replace makes a change. The error is that of something else that has changed what belongs to
// what is stored.
func (c *Coordinator) replace(ctx context.Context, s Session, change Change,
	refused refusals,
) (Outcome, error) {
	began := lifetime.Now()
	out, _, err := c.commit(ctx, s, change, nil)
	took := lifetime.Since(began)
	if out.Done {
		took = 0
	}
	if change.NoteLineage {
		c.tooLate.Store(int64(took)) //mutant:allowance-grows
	}
	return out, cmp.Or(err, refused.damage(change, out, -1))
}

// view is what a survey shows of the namespace.
func (sv *Survey) view() *View {
	return &View{Position: sv.Position, Meta: sv.Meta, Origin: sv.Origin, losses: sv.losses}
}

// insist makes attempts until one does not fail because others were faster, or ctx ends.
func (c *Coordinator) insist(ctx context.Context, attempt func() error) error {
	for n := 0; ; n++ {
		err := attempt()
		if !errors.Is(err, errAgain) {
			return err
		}
		if ended := c.pause(ctx, n); ended != nil {
			return fmt.Errorf("%w (%w)", ended, err)
		}
	}
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
