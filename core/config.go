package core

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/logs"
)

// DefaultRollbackTolerance is the rollback tolerance of a zero [Config].
const DefaultRollbackTolerance = 5 * time.Millisecond

// longestCatchUp is how far the clock may step back beyond Lead and the rollback tolerance while
// the generator keeps its worker ID: until the clock has caught up, no ID is issued, so that the
// IDs stay in order. After a larger step the generator leases another worker ID.
const longestCatchUp = time.Second

// maxStripes bounds what a typing error can lease.
const maxStripes = 1024

// Config says how a [Generator] works. The zero Config is ready to use: every
// field has a documented zero value. It is read by New alone.
type Config struct {
	// Layout divides the bits of an ID. The zero Layout means DefaultLayout. All
	// generators of a namespace must have the same.
	Layout Layout
	// Clock tells the time. Nil means clock.System().
	Clock clock.Clock
	// RollbackTolerance is how far the clock may step back, beyond Lead, without an error: 0 means
	// 5 ms, and a negative value means not at all. Within it, IDs continue in the last tick, and Next
	// waits when that is spent. It is rounded up to ticks.
	RollbackTolerance time.Duration
	// Lead is how far IDs may run ahead of the clock, so that a burst need not wait
	// for the next tick. 0, the default, means that the time in an ID is never later
	// than the clock was. It is rounded up to ticks, must not lie between 0 and the
	// layout's unit, and is at most a third of the lease's horizon.
	Lead time.Duration
	// SpreadBelow spreads the first sequence number of each tick over 0 to SpreadBelow-1, by a hash
	// of the tick: the IDs of a service that makes few of them are then even under ID modulo m. A
	// tick has up to SpreadBelow-1 IDs less. 0 to 2^SequenceBits; 0 and 1 spread nothing.
	SpreadBelow int
	// Stripes is how many worker IDs the generator leases and spreads its callers
	// over: its rate grows with it. IDs are then in order per worker ID and not
	// across them. 0 means 1; at most 1024 and at most the worker IDs available.
	Stripes int
	// Lease says how the worker ID is leased. The zero LeaseConfig means the
	// coordinator's defaults.
	Lease coord.LeaseConfig
	// StateFile, if not empty, is the absolute path of a file in which the generator keeps its worker
	// ID for the next process: a service that restarts while its coordinator is away goes on with it,
	// within 3 s, until the end of the window that was granted. A Horizon of hours makes that window
	// long, see the page on outages. The directory must exist on a disk of this machine. Stripe i > 0
	// has FILE.i. A file serves one generator at a time; the next one waits for it. While the file
	// cannot be written, IDs end 3 s after the last time written in it.
	StateFile string
	// Place is the address of the namespace, for a coordinator that does not know it: a driver that
	// was given a *sql.DB, for example. It tells namespaces of the same name apart, so that a
	// StateFile serves while the coordinator is away. Not used if the coordinator knows its address.
	Place string
	// Closer, if not nil, is what the generator owns beside its worker IDs: the coordinator, if it was
	// opened for this generator alone. Close closes it after the worker IDs are released, and New and
	// Start close it if they fail.
	Closer io.Closer
	// OnChange, if not nil, is called when the generator begins or ceases to be able
	// to issue, when its reason changes, and when a worker ID changes: one call at a
	// time, from a goroutine of its own, and with the latest state if several changes
	// came during one call. It is not called for the state in which New or Start returns.
	// The last call is for Close, has [Health.Closed] set, and may come after Close has
	// returned. It may call the generator's methods.
	OnChange func(Health)
	// OnCall, if not nil, is called after each call to the coordinator, with how long it took
	// and what it returned: for metrics. Calls may come at the same time, from several
	// goroutines; it must return promptly, and must not call the generator's Close. It has
	// nothing to do with single IDs, and costs Next nothing.
	OnCall func(coord.Call)
	// StartTimeout is how long New goes on while it gets no worker ID: the coordinator
	// does not answer, or every worker ID is held. 0 means the lease's TTL and 5 s, after
	// which no call is begun, but one that is under way may take another TTL; or longer
	// where the lease of a holder that may be dead ends later. A negative value means until
	// New's context ends. It does not count waits whose end is known, for a
	// quarantine or for a window that opens later: the context bounds them. [Start] goes
	// on until Close, whatever it is.
	StartTimeout time.Duration
	// Logger gets transitions and waits, and never single IDs. Nil means that warnings
	// go to slog.Default(), as it is when the generator is made; slog.DiscardHandler
	// silences them. The end of what a warning has announced is a warning as well.
	//
	// The handler is called from a goroutine of its own, one record after the other. It
	// may call the generator, and may block: renewals and calls wait for it for 0.1 s at
	// most, and not again until it has returned. Of the records that come meanwhile
	// the first 256 are kept. The methods Enabled, WithAttrs and WithGroup must return
	// at once and call nothing of the generator.
	Logger *slog.Logger
}

// settings is a checked Config in ticks.
type settings struct {
	Config
	horizon int64 // ticks
	rule    rule
	workers coord.Range
	// surviving reports that the state file serves while the coordinator is away.
	surviving bool
}

// resolve fills in the defaults of cfg and checks it.
func (cfg Config) resolve(c coord.Coordinator) (settings, error) {
	s := settings{Config: cfg}
	if err := checkCoordinator(c); err != nil {
		return s, err
	}
	if s.Layout == (Layout{}) {
		s.Layout = DefaultLayout()
	}
	if s.Clock == nil {
		s.Clock = clock.System()
	}
	s.Logger = logs.Or(s.Logger)
	if s.RollbackTolerance == 0 {
		s.RollbackTolerance = DefaultRollbackTolerance
	}
	s.RollbackTolerance = max(s.RollbackTolerance, 0)
	s.Stripes = max(s.Stripes, 1)
	if err := cfg.check(s.Layout, clock.Fresh(s.Clock)); err != nil {
		return s, err
	}
	var err error
	rules := coord.Describe(c).Rules
	if err := s.resolveStateFile(c, &rules); err != nil {
		return s, err
	}
	if s.Lease, err = rules.Resolve(cfg.Lease); err != nil {
		return s, invalid("Lease: %w", err)
	}
	if s.horizon, err = keeper.HorizonTicks(rules, s.Lease, s.Layout.scale()); err != nil {
		return s, invalid("Lease: %w", err)
	}
	if s.workers, err = s.Lease.WorkerIDs.Within(s.Layout.Workers()); err != nil {
		return s, invalid("Lease: %w", err)
	}
	switch n := len(identityOf(s.Lease.Identity, s.Stripes-1)); {
	case s.Stripes > s.workers.Count:
		return s, invalid("Stripes is %d; there are %d worker IDs to lease (%v)",
			s.Stripes, s.workers.Count, s.workers)
	case rules.Workers > 0 && s.Stripes > rules.Workers:
		return s, invalid("Stripes is %d, which takes as many worker IDs; the coordinator is "+
			"configured with %d: give it more, or lower Stripes", s.Stripes, rules.Workers)
	case s.Lead > s.Lease.Horizon/3:
		return s, invalid("Lead is %v; at most a third of the lease's Horizon, which is %v, is "+
			"allowed, because IDs never leave the window", s.Lead, s.Lease.Horizon)
	case n > coord.MaxName:
		return s, invalid("Lease.Identity is %d bytes long with the number of a stripe; at most "+
			"%d are allowed", n, coord.MaxName)
	}
	s.convert()
	return s, nil
}

// checkCoordinator refuses nil, and the nil pointer that comes with an error from a
// driver's New.
func checkCoordinator(c coord.Coordinator) error {
	const advice = "make one with coord.Open or a driver's New, and check the error that comes with it"
	switch {
	case c == nil:
		return invalid("the coordinator is nil; %s", advice)
	case drivers.IsNil(c):
		return invalid("the coordinator is a nil %T; %s", c, advice)
	}
	return nil
}

// check tells whether the fields that need no defaults are allowed.
func (cfg Config) check(l Layout, unixMicro int64) error {
	if err := l.Validate(); err != nil {
		return invalid("Layout: %w", err)
	}
	if err := l.checkEpoch(time.UnixMicro(unixMicro)); err != nil {
		return invalid("Layout: %w", err)
	}
	switch {
	case cfg.Lead < 0 || cfg.Lead > 0 && cfg.Lead < l.Unit:
		return invalid("Lead is %v; it must be 0 or at least the layout's unit, %v", cfg.Lead, l.Unit)
	case cfg.Lead > time.Minute || cfg.RollbackTolerance > time.Minute:
		return invalid("Lead is %v and RollbackTolerance %v; at most %v is allowed", cfg.Lead,
			cfg.RollbackTolerance, time.Minute)
	case cfg.SpreadBelow < 0 || cfg.SpreadBelow > l.SequencesPerTick():
		return invalid("SpreadBelow is %d; 0 to %d are allowed with %d sequence bits", cfg.SpreadBelow,
			l.SequencesPerTick(), l.SequenceBits)
	case cfg.Stripes < 0 || cfg.Stripes > maxStripes:
		return invalid("Stripes is %d; 1 to %d are allowed, 0 means 1",
			cfg.Stripes, maxStripes)
	}
	return nil
}

// closeOwned closes what a generator owns; nil: nothing.
func closeOwned(c io.Closer) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// convert turns durations into ticks, up, so that what was asked for is tolerated.
func (s *settings) convert() {
	scale := s.Layout.scale()
	lead := scale.TicksUp(s.Lead.Microseconds())
	limit := lead + scale.TicksUp(ceilMicro(s.RollbackTolerance))
	s.rule = rule{
		shift:    s.Layout.SequenceBits,
		lead:     lead,
		limit:    limit,
		catchUp:  limit + scale.TicksUp(longestCatchUp.Microseconds()),
		lastTick: uint64(s.Layout.lastTick()),
		last:     1<<s.Layout.SequenceBits - 1,
		spread:   uint64(s.SpreadBelow),
	}
	if s.SpreadBelow == 1 {
		s.rule.spread = 0 // every hash below 1 is 0
	}
}

// ceilMicro returns d in microseconds, rounded up.
func ceilMicro(d time.Duration) int64 {
	return int64((d + time.Microsecond - 1) / time.Microsecond)
}

// identityOf returns the identity of a stripe. They differ, because each wants a
// worker ID of its own back.
func identityOf(identity string, stripe int) string {
	if identity == "" || stripe == 0 {
		return identity
	}
	return fmt.Sprintf("%s#%d", identity, stripe)
}

// request is what every acquisition of the given stripe asks for.
func (s *settings) request(stripe int) coord.Request {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return coord.Request{
		Identity:    identityOf(s.Lease.Identity, stripe),
		Holder:      fmt.Sprintf("%s:%d", host, os.Getpid()),
		Fingerprint: s.Layout.String(),
		Scale:       s.Layout.scale(),
		LastTick:    s.Layout.lastTick(),
		Workers:     s.workers,
		Capacity:    s.Layout.Workers(),
		TTL:         s.Lease.TTL,
		Ahead:       s.rule.limit,
		Surviving:   s.surviving,
	}
}
