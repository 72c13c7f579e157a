package protocol

import (
	"context"
	"errors"

	"github.com/unalike-id/unalike/coord"
)

// release gives a worker ID back, by rule 9, and ends the session of the grant. A change
// whose answer was lost is looked into, and made once more if it was not done.
func (c *Coordinator) release(ctx context.Context, g coord.Grant, last int64) error {
	h, err := c.hold(g, g.Token)
	if err != nil {
		return err
	}
	defer c.leave(h.t)
	err = h.keep(ctx, func(ctx context.Context, s Session) (bool, error) { return h.giveBack(ctx, s, last) })
	switch {
	case err == nil:
		c.unwatch(g)
		c.drop(h.t)
	case errors.Is(err, coord.ErrLeaseLost):
		c.unwatch(g)
		h.lose()
	default:
		// If it was not done, the worker ID may be free all the same when the session ends.
		c.drop(h.t)
	}
	return err
}

// giveBack makes the change of a release.
func (h *holding) giveBack(ctx context.Context, s Session, last int64) (bool, error) {
	out, _, err := h.commit(ctx, s, planRelease(h.v, h.g, last), h.known)
	switch {
	case err != nil && h.attempt != nil:
		return false, err
	case err != nil:
		h.doubtful(h.t)
		h.attempt, h.v = err, nil
		return false, nil //nolint:nilerr // the next turn looks what became of it
	case out.Done:
		return true, h.heal(ctx, s, 0)
	case out.Repeated:
		// It may have been done the first time.
		h.attempt, h.v = errRepeated, nil
		return false, nil
	}
	return false, h.again(out)
}

// errRepeated says that a change was sent more than once.
var errRepeated = errors.New("the change was sent more than once")
