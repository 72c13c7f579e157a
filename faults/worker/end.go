package worker

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// End ends the worker, whether it is frozen or not: in good order, or with a kill if that takes
// longer than limit. The error says what went wrong in the process, also if it had ended before,
// unless it was killed.
func (w *Worker) End(limit time.Duration) error {
	if w.Ended() {
		return w.complaint()
	}
	// Of a process that ends at this moment nobody minds the signals.
	_ = syscall.Kill(w.PID(), syscall.SIGTERM)
	_ = syscall.Kill(w.PID(), syscall.SIGCONT)
	if !w.EndIn(limit) {
		return fmt.Errorf("worker %d did not end within %v of SIGTERM, and was killed: %s", w.PID(),
			limit, w.Log())
	}
	return w.complaint()
}

// complaint returns what the process has printed that makes it useless: errors of its own, a panic,
// a data race.
func (w *Worker) complaint() error {
	log := w.Log()
	for line := range strings.Lines(log) {
		for _, bad := range []string{"worker:", "panic:", "fatal error:", "WARNING: DATA RACE"} {
			if strings.HasPrefix(line, bad) {
				return fmt.Errorf("worker %d: %.4000s", w.PID(), log)
			}
		}
	}
	return nil
}
