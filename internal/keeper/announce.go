package keeper

import (
	"context"
	"log/slog"
	"time"
)

// announceAfter is how long something is waited for before the log says so.
const announceAfter = 700 * time.Millisecond

// announcing calls f, and logs msg as a warning if f takes longer than announceAfter. It
// reports whether it did.
func (k *Keeper) announcing(f func(), msg string, attrs ...any) (said bool) {
	written := make(chan struct{})
	late := time.AfterFunc(announceAfter, func() {
		defer close(written)
		k.log.Warn(msg, attrs...)
	})
	f()
	if late.Stop() {
		return false
	}
	<-written
	return true
}

// endOf returns the level at which the end of something is logged: whoever has seen its
// beginning, which was a warning, sees its end as well.
func endOf(warned bool) slog.Level {
	if warned {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// tell logs at a level that is chosen by endOf.
func (k *Keeper) tell(level slog.Level, msg string, attrs ...any) {
	k.log.Log(context.Background(), level, msg, attrs...)
}

// lasting says how long the keeper goes on trying to lease a worker ID.
func (k *Keeper) lasting() slog.Attr {
	if k.giveUp.IsZero() {
		return slog.String("trying_until", "it succeeds")
	}
	return slog.Time("trying_until", k.giveUp.UTC())
}
