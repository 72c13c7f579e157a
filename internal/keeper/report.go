package keeper

import (
	"errors"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// kinds are the causes of a failure that are told from each other: a log that goes on
// to show the first one, while it is another that has to be mended or waited for, leads
// astray. What is none of them is trouble on the way to the back end.
var kinds = []error{
	coord.ErrQuarantined, coord.ErrNoWorkerID, coord.ErrClockSkew, coord.ErrLayoutMismatch, coord.ErrInvalid, coord.ErrClosed,
}

// kindOf returns which of the kinds an error is; -1: none of them.
func kindOf(err error) int {
	return slices.IndexFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// failed logs a failure: the first one of a row, and those of another kind than the
// one before.
func (k *Keeper) failed(message string, err error, args ...any) {
	kind := kindOf(err)
	if k.retries.pause == 0 || kind != k.kind {
		k.log.Warn(message, append(args, "error", err)...)
	}
	k.kind = kind
}

// report logs, once each, that the window has ended with nothing to follow it, and
// that IDs can be issued again.
func (k *Keeper) report() {
	switch ended := k.ended(k.now()); {
	case ended && k.endedAt.IsZero():
		k.endedAt = time.Now()
		k.log.Warn("issue window ended, no IDs until the coordinator extends it", "worker_id", k.grant.WorkerID)
	case !ended && !k.endedAt.IsZero():
		k.log.Info("IDs can be issued again", "worker_id", k.grant.WorkerID, "after", time.Since(k.endedAt).Round(time.Millisecond))
		k.endedAt = time.Time{}
	}
}
