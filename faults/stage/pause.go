package stage

import (
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/worker"
)

// RecoveredFrom is Recovered where IDs were still issued for some time after the fault: it waits until one of the
// workers has issued an ID from now on, and counts the time from the moment since, see journal.Now.
func (s *Stage) RecoveredFrom(since int64, workers ...*worker.Worker) time.Duration {
	s.Helper()
	now := journal.Now()
	took := time.Duration(now-since) + s.Recovered(now, workers...)
	s.recovery = max(s.recovery, took)
	return took
}
