package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
)

// handle is what a grant carries: for a server that has forgotten the namespace, what
// that was; and as proof for one that has forgotten the grant, when it was there.
type handle struct {
	space coord.Space
	seen  snapshot // when it was granted or last extended
}

// handleOf returns what is known of a grant; of one that came without its handle,
// nothing.
func handleOf(g coord.Grant) handle {
	if h, ok := g.Handle.(*handle); ok && h != nil {
		return *h
	}
	return handle{}
}

// args are a grant as the scripts read it, after its namespace.
func (h handle) args(g coord.Grant) []any {
	return append(spaceArgs(h.space), g.WorkerID, g.Token, g.Generation, g.NotBefore, g.NotAfter, h.seen.nonce, h.seen.loss, h.seen.age(), h.seen.at)
}

// Renew implements [coord.Coordinator]. It makes one call to Redis, which extends the
// window and the lease, and puts a lease back that has ended.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	h := handleOf(g)
	r, seen, err := c.ask(ctx, about("renew", g), renewScript, append(h.args(g), until)...)
	if err != nil {
		return coord.Grant{}, err
	}
	v, err := r.ints(1, 2)
	if err != nil {
		return coord.Grant{}, err
	}
	g.NotBefore, g.NotAfter, g.Handle = v[0], v[1], &handle{h.space, seen}
	return g, nil
}

// Release implements [coord.Coordinator]. It makes one call to Redis.
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := c.do(ctx, about("release", g), releaseScript, append(handleOf(g).args(g), last)...)
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
