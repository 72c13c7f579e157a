package lifetime

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/logs"
)

// Resolve fills in defaults of the options that drivers with a lease have in common, and checks
// them. MaxHorizon is the driver's constant, and skewBound its default. Errors wrap
// [coord.ErrInvalid].
func Resolve(lease coord.LeaseConfig, skew *time.Duration, c *clock.Clock, log **slog.Logger,
	maxHorizon, skewBound time.Duration,
) error {
	*skew, *log = cmp.Or(*skew, skewBound), logs.Or(*log)
	if *c == nil {
		*c = clock.System()
	}
	if *skew < 0 || *skew >= maxHorizon {
		return invalid.Errorf("SkewBound is %v; it is positive and less than %v", *skew,
			maxHorizon)
	}
	if lease.WorkerIDs != (coord.Range{}) || lease.Identity != "" {
		return invalid.Errorf("Lease.WorkerIDs is %v and Lease.Identity is %q; both must be zero here, "+
			"they belong in the generator's configuration", lease.WorkerIDs,
			lease.Identity)
	}
	return nil
}

// CheckHorizon refuses a request that reaches further ahead than a driver allows.
func CheckHorizon(req coord.Request, rules coord.LeaseRules) error {
	rules.Surviving = req.Surviving
	if ahead, further := Ahead(req, rules.HorizonLimit()); further {
		return fmt.Errorf("the window is to reach too far ahead: %w", rules.CheckHorizon(ahead))
	}
	return nil
}

// Ahead returns how far ahead the window of a request is to reach, and whether that is
// further than a limit.
func Ahead(req coord.Request, limit time.Duration) (ahead time.Duration, further bool) {
	if req.Now < 0 || req.Until <= req.Now {
		return 0, false
	}
	ticks := req.Until - req.Now
	longest := int64(math.MaxInt64) / 1000 / req.Scale.Unit
	return time.Duration(min(ticks, longest)*req.Scale.Unit) * time.Microsecond,
		ticks > req.Scale.TicksUp(limit.Microseconds())
}

// Undeclared is the error of a window that is to reach further ahead than a namespace allows,
// which is longest; 0: the namespace is not there. Where says which namespace it is.
func Undeclared(ahead, longest time.Duration, where string) error {
	says, after := "is not there", ""
	if longest > 0 {
		says, after = fmt.Sprintf("has %v at most", longest), ", which may follow this one (--after)"
	}
	return invalid.Errorf("Horizon is %v, and %s %s; declare a new one with 'unalike init "+
		"--max-horizon %v'%s", ahead, where, says, ahead, after)
}

// CheckDeclared refuses a longest horizon that no namespace of a driver can be declared
// with. Why says why none can, where the driver has none.
func CheckDeclared(maxHorizon time.Duration, rules coord.LeaseRules, why string) error {
	switch {
	case maxHorizon == 0:
		return nil
	case rules.MaxDeclared == 0:
		return invalid.Errorf("MaxHorizon is %v; here every namespace has %v, because %s; leave it out, "+
			"or use etcd, ZooKeeper, PostgreSQL or MySQL", maxHorizon, rules.MaxHorizon, why)
	case maxHorizon <= rules.MaxHorizon || maxHorizon > rules.MaxDeclared ||
		maxHorizon%time.Millisecond != 0:
		return invalid.Errorf("MaxHorizon is %v; it is more than %v, which every namespace has, at most "+
			"%v, and in whole milliseconds", maxHorizon, rules.MaxHorizon, rules.MaxDeclared)
	}
	return nil
}
