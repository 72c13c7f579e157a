package lifetime

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/logs"
)

// Settings are the options that drivers with a lease have in common.
type Settings struct {
	Lease     coord.LeaseConfig
	SkewBound time.Duration
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Resolve fills in defaults and checks the settings. MaxHorizon is the driver's
// constant, and skewBound its default. Errors wrap [coord.ErrInvalid].
func (s Settings) Resolve(maxHorizon, skewBound time.Duration) (Settings, error) {
	if s.SkewBound == 0 {
		s.SkewBound = skewBound
	}
	if s.SkewBound < 0 || s.SkewBound >= maxHorizon {
		return s, fmt.Errorf("%w: SkewBound is %v; it is positive and less than %v", coord.ErrInvalid, s.SkewBound, maxHorizon)
	}
	if s.Clock == nil {
		s.Clock = clock.System()
	}
	s.Logger = logs.Or(s.Logger)
	if l := s.Lease; l.WorkerIDs != (coord.Range{}) || l.Identity != "" {
		return s, fmt.Errorf("%w: Lease.WorkerIDs is %v and Lease.Identity is %q; both must be zero here, they belong in the generator's configuration", coord.ErrInvalid, l.WorkerIDs, l.Identity)
	}
	return s, nil
}

// CheckHorizon refuses a request that reaches further ahead than a driver's constant.
func CheckHorizon(req coord.Request, maxHorizon time.Duration) error {
	ahead := req.Until - req.Now
	if req.Until > req.Now && req.Now >= 0 && ahead > req.Scale.TicksUp(maxHorizon.Microseconds()) {
		return fmt.Errorf("%w: the window is to reach %v ahead; at most %v is allowed", coord.ErrInvalid, time.Duration(ahead*req.Scale.Unit)*time.Microsecond, maxHorizon)
	}
	return nil
}
