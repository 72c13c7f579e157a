package driver

import (
	"cmp"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
)

// minRenewEvery bounds how busy a typing error can keep a coordinator or a disk.
const minRenewEvery = 5 * time.Millisecond

// ResolveLease fills in and checks the lease configuration cfg for a coordinator with
// rules: what cfg sets, what the coordinator was given, and defaults, in this order. Errors wrap
// [coord.ErrInvalid] and name the field, its value and what is allowed. WorkerIDs is
// left as it is: what fits depends on the layout.
func ResolveLease(rules coord.LeaseRules, cfg coord.LeaseConfig) (coord.LeaseConfig, error) {
	pick := func(field string, own, set, def, fallback time.Duration) (time.Duration, error) {
		switch {
		case own < 0 || set < 0:
			return 0, fmt.Errorf("%w: %s is %v; it must be positive, or 0 for the default",
				coord.ErrInvalid, field, min(own, set))
		case own != 0 && set != 0 && own != set:
			return 0, setTwice(field, own, set)
		}
		return cmp.Or(own, set, def, fallback), nil
	}
	out := cfg
	var err error
	if out.TTL, err = pick("TTL", cfg.TTL, rules.Set.TTL, rules.Default.TTL,
		coord.DefaultTTL); err != nil {
		return out, err
	}
	if out.Horizon, err = pick("Horizon", cfg.Horizon, rules.Set.Horizon, rules.Default.Horizon,
		coord.DefaultHorizon); err != nil {
		return out, err
	}
	third := min(out.TTL, out.Horizon) / 3
	if out.RenewEvery, err = pick("RenewEvery", cfg.RenewEvery, rules.Set.RenewEvery,
		rules.Default.RenewEvery, third); err != nil {
		return out, err
	}
	err = checkLease(out, rules)
	if rules.MaxRenewEvery != 0 {
		out.RenewEvery = min(out.RenewEvery, rules.MaxRenewEvery)
	}
	return out, err
}

func setTwice(field string, here, there time.Duration) error {
	return fmt.Errorf("%w: %s is %v in the configuration and %v in the coordinator's URL or options; "+
		"set it in one place",
		coord.ErrInvalid, field, here, there)
}

// checkLease tells whether resolved lease times fit together.
func checkLease(l coord.LeaseConfig, rules coord.LeaseRules) error {
	switch err := rules.CheckHorizon(l.Horizon); {
	case l.TTL < rules.MinTTL:
		return fmt.Errorf("%w: TTL is %v; this coordinator needs at least %v",
			coord.ErrInvalid, l.TTL, rules.MinTTL)
	case err != nil:
		return err
	case l.RenewEvery < minRenewEvery:
		return fmt.Errorf("%w: RenewEvery is %v, with TTL %v and Horizon %v; it must be at least %v",
			coord.ErrInvalid, l.RenewEvery, l.TTL, l.Horizon, minRenewEvery)
	case l.RenewEvery >= l.TTL:
		return fmt.Errorf("%w: RenewEvery is %v; it must be less than TTL, which is %v",
			coord.ErrInvalid, l.RenewEvery, l.TTL)
	case l.RenewEvery > l.Horizon/2:
		return fmt.Errorf("%w: RenewEvery is %v; it must be at most half of Horizon, which is %v",
			coord.ErrInvalid, l.RenewEvery, l.Horizon)
	}
	return drivers.CheckName(coord.ErrInvalid, "Identity", l.Identity, true)
}
