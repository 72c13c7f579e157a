package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
)

// Release implements [coord.Coordinator]. It gives a worker ID back, by rule 9, and ends the
// session of the grant. A change whose answer was lost is looked into, and made once more if it
// was not done.
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	return c.life.Do(ctx, fmt.Sprintf("release worker ID %d", g.WorkerID),
		func(ctx context.Context) error {
			h, err := c.newHolding(ctx, g, g.Token)
			if err != nil {
				return err
			}
			defer c.leave(h.t)
			err = h.keep(ctx, func(ctx context.Context) (bool, error) { return h.giveBack(ctx, last) })
			c.unwatch(g)
			if errors.Is(err, coord.ErrLeaseLost) {
				h.lose()
			} else { // if it was not done, the worker ID may be free all the same when the session ends
				c.drop(h.t)
			}
			return err
		})
}

// giveBack makes the change of a release.
func (h *holding) giveBack(ctx context.Context, last int64) (bool, error) {
	change := planRelease(h.v, h.g, last)
	out, _, err := h.commit(ctx, h.s, change, h.known)
	switch {
	case err != nil && h.attempt != nil:
		return false, err
	case err != nil:
		h.doubtful(h.t)
		h.attempt, h.v = err, nil
		return false, nil //nolint:nilerr // the next turn looks what became of it
	case out.Done:
		return true, h.raiseIfLost(ctx, h.s, 0)
	case out.Repeated:
		// It may have been done the first time.
		h.attempt, h.v = errRepeated, nil
		return false, nil
	}
	return false, h.again(change, out)
}

// errRepeated says that a change was sent more than once.
var errRepeated = errors.New("the change was sent more than once")
