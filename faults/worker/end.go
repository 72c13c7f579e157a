package worker

import (
	"fmt"
	"regexp"
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

// useless is how lines begin that make a process useless: errors of its own, a panic, a data race.
var useless = regexp.MustCompile(`(?m)^(worker:|panic:|fatal error:|WARNING: DATA RACE)`)

// complaint returns what the process has printed if that makes it useless.
func (w *Worker) complaint() error {
	if log := w.Log(); useless.MatchString(log) {
		return fmt.Errorf("worker %d: %.4000s", w.PID(), log)
	}
	return nil
}
