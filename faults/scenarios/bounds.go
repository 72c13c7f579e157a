package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/faults/stage"
)

const (
	// busyTime is what each bound on a time allows beyond what is promised: processes wait for one of two
	// processors that have other work, too. There is no other allowance. It is shorter than anything that it is
	// added to must stay apart from: the horizon, the TTL, a quarantine.
	busyTime = 2 * time.Second
	// resumeTime is how long a holder whose window has ended may take to its next ID once its servers serve.
	resumeTime = 2*time.Second + busyTime
	// silence is the longest time without an ID of generators to whom nothing may happen. Their window never ends,
	// which they would tell; so it is that of a busy machine.
	silence = time.Second
	// outage is longer than any TTL of the suite, so that leases end in it, and shorter than what a holder must
	// bridge, which is the horizon less the renewal interval, by the time of a renewal.
	outage = 4500 * time.Millisecond

	// forgottenTime is MaxHorizon of Redis: how far windows can reach that it has forgotten.
	forgottenTime = 30 * time.Second
	// quarantineTime is how long a holder at Redis may take to its next ID after Redis serves again and may have
	// forgotten something: the renewal that notices, and the quarantine.
	quarantineTime = stage.RenewalTime + forgottenTime + stage.SkewBound + busyTime
)

// longOutage is how long an outage lasts that nobody bridges.
func longOutage(s *stage.Stage) time.Duration {
	if s.Short {
		return stage.Horizon + 2*time.Second
	}
	return 3 * stage.Horizon
}
