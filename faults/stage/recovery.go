package stage

import "time"

// RecoveredIn says how long it took until IDs were issued again, where the scenario has measured that itself: the
// longest time of a run, of this and of [Stage.Recovered], is what is compared with what the scenario allows.
func (s *Stage) RecoveredIn(took time.Duration) {
	s.Helper()
	s.Logf("IDs were issued again after %v", took.Round(time.Millisecond))
	s.recovery = max(s.recovery, took)
}
