package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
)

// Renew implements [coord.Coordinator]. It makes one call to Redis, which extends the
// window and the lease, and puts a lease back that has ended.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	args := append(spaceArgs(spaceOf(g)), g.WorkerID, g.Token, g.Generation, g.NotBefore, g.NotAfter, until)
	r, err := c.do(ctx, about("renew", g), renewScript, args...)
	if err != nil {
		return coord.Grant{}, err
	}
	v, err := r.ints(1, 2)
	if err != nil {
		return coord.Grant{}, err
	}
	g.NotBefore, g.NotAfter = v[0], v[1]
	return g, nil
}

// Release implements [coord.Coordinator]. It makes one call to Redis.
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := c.do(ctx, about("release", g), releaseScript, g.WorkerID, g.Token, g.Generation, last)
	return err
}

// about is an operation on a grant.
func about(what string, g coord.Grant) operation {
	return operation{
		what: fmt.Sprintf("%s worker ID %d", what, g.WorkerID),
		complete: func(err error) error {
			if errors.Is(err, coord.ErrLeaseLost) {
				return fmt.Errorf("%w; the grant was %v", err, g)
			}
			return err
		},
	}
}
