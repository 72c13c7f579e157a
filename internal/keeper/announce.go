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

// tellEndOf logs the end of something, at the level of its beginning.
func (k *Keeper) tellEndOf(warned bool, msg string, attrs ...any) {
	k.log.Log(context.Background(), logs.EndOf(warned), msg, attrs...)
}

// lasting says how long the keeper goes on trying to lease a worker ID.
func (k *Keeper) lasting() slog.Attr {
	if k.giveUp.IsZero() {
		return slog.String("trying_until", "it succeeds")
	}
	return slog.Time("trying_until", k.giveUp.UTC())
}
