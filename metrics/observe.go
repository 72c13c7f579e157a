package metrics

import (
	"context"
	"errors"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/segment"
)

// observe counts a call to the coordinator.
func (e *generator) observe(c coord.Call) {
	e.calls.WithLabelValues(c.Op, resultOf(c.Err)).Observe(c.Took.Seconds())
}

// resultOf is the label for an error: a few fixed words.
func resultOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, coord.ErrLeaseLost):
		return "lost"
	case errors.Is(err, coord.ErrNoWorkerID):
		return "no_worker_id"
	case errors.Is(err, coord.ErrQuarantined):
		return "quarantined"
	}
	return "error"
}

// storeReasons are the labels for errors of a store.
var storeReasons = []struct {
	err  error
	word string
}{
	{segment.ErrUnknownTag, "unknown_tag"},
	{segment.ErrExhausted, "exhausted"},
	{segment.ErrWentBack, "went_back"},
	{segment.ErrStoreChanged, "store_changed"},
	{segment.ErrDamaged, "damaged"},
	{segment.ErrPruned, "pruned"},
	{segment.ErrInvalidConfig, "refused"},
}

// storeReason is the label for an error of a store: a few fixed words.
func storeReason(err error) string {
	for _, r := range storeReasons {
		if errors.Is(err, r.err) {
			return r.word
		}
	}
	return "unreachable"
}
