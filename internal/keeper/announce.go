package keeper

import (
	"context"
	"log/slog"

	"github.com/unalike-id/unalike/internal/logs"
)

// announcing calls f, and logs msg if that takes long. It reports whether it did.
func (k *Keeper) announcing(f func(), msg string, attrs ...any) (said bool) {
	return logs.Waiting(k.log, f, msg, attrs...)
}

// announceEnd has it logged if the keeper, once it is to stop, waits for an acquisition that is
// under way. The function that it returns says that this is over.
func (k *Keeper) announceEnd() (ended func()) {
	over, said := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(k.ctx, func() {
		defer close(said)
		logs.Waiting(k.log, func() {
			<-over
		}, "closing, waiting for the answer to a call that is under way")
	})
	return func() {
		close(over)
		if !stop() {
			<-said
		}
	}
}

// tellEndOf logs the end of something, at the level of its beginning.
func (k *Keeper) tellEndOf(warned bool, msg string, attrs ...any) {
	k.log.Log(context.Background(), logs.EndOf(warned), msg, attrs...)
}

// lasting says how long the keeper goes on trying to lease a worker ID.
func (k *Keeper) lasting() slog.Attr {
	end := k.giveUp
	if k.cfg.StartTimeout < 0 || end.IsZero() {
		end = k.bound
	} else if !k.bound.IsZero() {
		end = earlier(end, k.bound)
	}
	if end.IsZero() {
		return slog.String("trying_until", "it succeeds")
	}
	return slog.Time("trying_until", end.UTC())
}
