package metrics

import (
	"context"
	"errors"

	"github.com/unalike-id/unalike/coord"
)

// observe counts a call to the coordinator.
func (e *generator) observe(c coord.Call) {
	e.calls.WithLabelValues(string(c.Op), resultOf(c.Err)).Observe(c.Took.Seconds())
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
