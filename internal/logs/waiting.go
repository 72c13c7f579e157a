package logs

import (
	"log/slog"
	"time"
)

// Quiet is how long something is waited for before the log says so.
const Quiet = 700 * time.Millisecond

// Waiting calls f, and logs msg as a warning if f takes longer than Quiet. It reports
// whether it did.
func Waiting(l *slog.Logger, f func(), msg string, attrs ...any) (said bool) {
	written := make(chan struct{})
	timer := time.AfterFunc(Quiet, func() {
		defer close(written)
		l.Warn(msg, attrs...)
	})
	f()
	if timer.Stop() {
		return false
	}
	<-written
	return true
}

// EndOf returns the level at which the end of something is logged: whoever has seen its
// beginning, which was a warning, sees its end as well.
func EndOf(warned bool) slog.Level {
	if warned {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
