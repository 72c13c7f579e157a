package coord

import (
	"cmp"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/internal/drivers"
)

// Defaults of [LeaseConfig], for drivers that have none of their own.
const (
	DefaultTTL     = 15 * time.Second
	DefaultHorizon = 30 * time.Second

	// MaxName is the longest namespace or identity, in bytes.
	MaxName = drivers.MaxName

	// LongestHorizon is the longest horizon of all, whatever a driver or a namespace allows. It
	// bounds what a typing error can do: a holder that died with a horizon of a day keeps its
	// worker ID's next holder waiting for as long.
	LongestHorizon = 24 * time.Hour
)

// LeaseConfig says how a worker ID is leased. Zero fields take the driver's
// defaults, which are 15 s, 30 s and a third of the shorter one unless the driver
// says otherwise.
type LeaseConfig struct {
	// TTL is how long after the last renewal the coordinator may give the worker ID
	// to somebody else.
	TTL time.Duration
	// Horizon is how far past now a renewal pushes the end of the window: for so
	// long a generator outlives its coordinator, and for up to so long the next
	// holder of a worker ID waits after a crash. It is cut to whole ticks, and is 3
	// ticks at the least. At most the driver's own limit, or, with a state file, what the
	// namespace was declared with, see [Space]: up to [LongestHorizon].
	Horizon time.Duration
	// RenewEvery is the longest interval of renewals: each is up to a fifth shorter, at
	// random. It is less than TTL
	// and at most half of Horizon.
	RenewEvery time.Duration
	// WorkerIDs is the share of worker IDs to choose from, a datacenter's for
	// example. The zero Range means all that the layout has.
	WorkerIDs Range
	// Identity names this holder across restarts: it gets its last worker ID back
	// where that is free. Empty: none. At most 128 bytes of printable text.
	Identity string
}

// Range is a run of worker IDs: First, First+1, and so on, Count of them. Count 0
// means all from First on.
type Range struct {
	First, Count int
}

// String prints the first and the last worker ID of the range.
func (r Range) String() string {
	if r.Count == 0 {
		return fmt.Sprintf("%d-", r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.First+r.Count-1)
}

// Within returns the range with its Count filled in for a layout of capacity
// worker IDs, or an error that wraps [ErrInvalid] if it does not fit.
func (r Range) Within(capacity int) (Range, error) {
	if r.First < 0 || r.First >= capacity {
		return r, invalid("WorkerIDs.First is %d; the layout has worker IDs 0 to %d",
			r.First, capacity-1)
	}
	if r.Count == 0 {
		r.Count = capacity - r.First
	}
	if r.Count < 0 || r.Count > capacity-r.First {
		return r, invalid("WorkerIDs.Count is %d; from %d on the layout has %d worker IDs", r.Count,
			r.First, capacity-r.First)
	}
	return r, nil
}

// LeaseRules is what a driver says of its leases.
type LeaseRules struct {
	// Set are the times that were given to the coordinator itself, in its URL or
	// its options. A different value in the generator's configuration is an error.
	Set LeaseConfig
	// Default are the times to use where nothing is set. Zero fields: the package's
	// defaults.
	Default LeaseConfig
	// MinTTL is the shortest TTL that the back end can keep; 0: any.
	MinTTL time.Duration
	// MaxHorizon is the driver's constant, see rule 11 of the package comment; 0:
	// no limit but [LongestHorizon].
	MaxHorizon time.Duration
	// MaxDeclared is the longest horizon that a namespace can be declared with, see
	// [Space]; 0: every namespace of the driver has MaxHorizon.
	MaxDeclared time.Duration
	// Declared is what the namespace was declared with, as far as the coordinator has read
	// it; 0: it has not, or the namespace has MaxHorizon.
	Declared time.Duration
	// Surviving says that holders keep their grants through restarts, as [Request] has it, so
	// that horizons up to MaxDeclared are allowed, as far as the namespace declares them.
	Surviving bool
	// Workers is how many worker IDs the coordinator has to lease, where that is fewer
	// than the layout has; 0: as many as the layout.
	Workers int
}

// HorizonLimit returns the longest horizon that these rules and this package allow. Of a
// holder that survives, the namespace may allow less.
func (r LeaseRules) HorizonLimit() time.Duration {
	limit := r.MaxHorizon
	if limit == 0 {
		limit = LongestHorizon
	}
	if r.Surviving {
		limit = max(limit, r.MaxDeclared)
	}
	return min(limit, LongestHorizon)
}

// LongestWindow returns how far ahead a window of the namespace can reach, whoever has it,
// as far as the coordinator knows; 0: it does not.
func (r LeaseRules) LongestWindow() time.Duration { return max(r.MaxHorizon, r.Declared) }

// CheckHorizon reports whether these rules allow a horizon. The error wraps [ErrInvalid].
func (r LeaseRules) CheckHorizon(horizon time.Duration) error {
	limit := r.HorizonLimit()
	switch {
	case horizon <= limit:
		return nil
	case !r.Surviving && horizon <= min(r.MaxDeclared, LongestHorizon):
		return invalid("Horizon is %v; at most %v is allowed without a state file: a longer one "+
			"needs a state file (state=FILE), because a crash loop would shut worker IDs for as long, and "+
			"a namespace that is declared with it (unalike init --max-horizon)", horizon, limit)
	}
	return invalid("Horizon is %v; at most %v is allowed here", horizon, limit)
}

// minRenewEvery bounds how busy a typing error can keep a coordinator or a disk.
const minRenewEvery = 5 * time.Millisecond

// Resolve fills in and checks the lease configuration of a generator for a coordinator with these
// rules: what cfg sets, what the coordinator was given, and defaults, in this order. Errors wrap
// [ErrInvalid] and name the field, its value and what is allowed. WorkerIDs is
// left as it is: what fits depends on the layout.
func (r LeaseRules) Resolve(cfg LeaseConfig) (LeaseConfig, error) {
	pick := func(field string, own, set, def, fallback time.Duration) (time.Duration, error) {
		switch {
		case own < 0 || set < 0:
			return 0, invalid("%s is %v; it must be positive, or 0 for the default", field, min(own, set))
		case own != 0 && set != 0 && own != set:
			return 0, drivers.SetTwice(ErrInvalid, field, own, set)
		}
		return cmp.Or(own, set, def, fallback), nil
	}
	out := cfg
	var err error
	if out.TTL, err = pick("TTL", cfg.TTL, r.Set.TTL, r.Default.TTL,
		DefaultTTL); err != nil {
		return out, err
	}
	if out.Horizon, err = pick("Horizon", cfg.Horizon, r.Set.Horizon, r.Default.Horizon,
		DefaultHorizon); err != nil {
		return out, err
	}
	third := min(out.TTL, out.Horizon) / 3
	if out.RenewEvery, err = pick("RenewEvery", cfg.RenewEvery, r.Set.RenewEvery,
		r.Default.RenewEvery, third); err != nil {
		return out, err
	}
	err = r.check(out)
	return out, err
}

// check reports whether resolved lease times fit together.
func (r LeaseRules) check(l LeaseConfig) error {
	switch err := r.CheckHorizon(l.Horizon); {
	case l.TTL < r.MinTTL:
		return invalid("TTL is %v; this coordinator needs at least %v", l.TTL, r.MinTTL)
	case err != nil:
		return err
	case l.RenewEvery < minRenewEvery:
		return invalid("RenewEvery is %v, with TTL %v and Horizon %v; it must be at least %v",
			l.RenewEvery, l.TTL, l.Horizon, minRenewEvery)
	case l.RenewEvery >= l.TTL:
		return invalid("RenewEvery is %v; it must be less than TTL, which is %v", l.RenewEvery, l.TTL)
	case l.RenewEvery > l.Horizon/2:
		return invalid("RenewEvery is %v; it must be at most half of Horizon, which is %v", l.RenewEvery,
			l.Horizon)
	}
	return drivers.CheckName(ErrInvalid, "Identity", l.Identity, true)
}
