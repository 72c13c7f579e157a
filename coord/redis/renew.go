package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/protocol"
)

// handle is what a grant carries: for a server that has forgotten the namespace, what
// that was; and as proof for one that has forgotten the grant, when it was there.
type handle struct {
	space     coord.Space
	namespace string
	grant     coord.Grant // as it was granted or last extended, without its handle
	seen      snapshot    // of that moment

	extent *protocol.Extent // what was asked for

	// explained is the loss that is known to have taken the grant, so that the grant is no
	// proof of another one; nil: none. Renewals are tried again with the same grant.
	explained atomic.Pointer[string]
}

// NamespaceNonce is that of the namespace in which the grant was made or last extended.
func (h *handle) NamespaceNonce() string { return h.seen.nonce }

// granted returns a grant with its handle.
func (c *Coordinator) granted(g coord.Grant, space coord.Space, seen snapshot, extent *protocol.Extent) coord.Grant {
	g.Handle = nil
	g.Handle = &handle{space: space, namespace: c.namespace, grant: g, seen: seen, extent: extent}
	return g
}

// spaceOf returns what is known of a grant's namespace; the zero Space: nothing.
func spaceOf(g coord.Grant) coord.Space {
	if h, ok := g.Handle.(*handle); ok && h != nil {
		return h.space
	}
	return coord.Space{}
}

// own returns the handle of a grant as this namespace has granted it; nil: it is not.
func (c *Coordinator) own(g coord.Grant) *handle {
	if h, ok := g.Handle.(*handle); ok && h != nil && h.namespace == c.namespace && h.grant.WorkerID == g.WorkerID &&
		h.grant.Token == g.Token && h.grant.Generation == g.Generation && h.grant.NotAfter >= g.NotAfter {
		return h
	}
	return nil
}

// grantArgs are a grant as the scripts read it, after its namespace. One that is not as
// this namespace has granted it is no proof of anything: it comes without the moment at
// which it was seen, and without what was asked for.
func (c *Coordinator) grantArgs(g coord.Grant) []any {
	var seen snapshot
	var explained, asked string
	if h := c.own(g); h != nil {
		seen = h.seen
		if loss := h.explained.Load(); loss != nil {
			explained = *loss
		}
		if until, known := h.extent.Until(); known {
			asked = strconv.FormatInt(until, 10)
		}
	}
	return append(spaceArgs(spaceOf(g)), g.WorkerID, g.Token, g.Generation, g.NotBefore, g.NotAfter, seen.nonce, seen.loss, seen.age(), seen.at, explained, asked)
}

// explain notes which loss has taken a grant, if a refusal says so.
func explain(g coord.Grant, refusal reply) {
	h, ok := g.Handle.(*handle)
	if !ok || h == nil || refusal.status() != "QUARANTINED" {
		return
	}
	if loss, err := refusal.text(4); err == nil && loss != "" {
		h.explained.Store(&loss)
	}
}

// Renew implements [coord.Coordinator]. It makes one call to Redis, which extends the
// window and the lease, and puts a lease back that has ended.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return c.renew(ctx, about("renew", g), g, "", until)
}

// Resume implements [coord.Resumer]. It makes the same call to Redis as Renew.
func (c *Coordinator) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	if err := driver.CheckResume(g, token); err != nil {
		return coord.Grant{}, err
	}
	return c.renew(ctx, about("resume", g), g, token, until)
}

// renew extends a grant, and gives it to another token unless that is empty.
func (c *Coordinator) renew(ctx context.Context, op operation, g coord.Grant, token string, until int64) (coord.Grant, error) {
	var extent *protocol.Extent
	if h := c.own(g); h != nil {
		extent = h.extent
	}
	r, seen, err := c.extend(ctx, op, g, token, until, extent)
	if err != nil {
		explain(g, r)
		return coord.Grant{}, err
	}
	v, err1 := r.ints(1, 7)
	scale, err2 := r.scale(4)
	if err := errors.Join(err1, err2); err != nil {
		return coord.Grant{}, err
	}
	g.NotBefore, g.NotAfter, g.Generation = v[0], v[1], uint64(v[2])
	if token != "" {
		g.Token = token
	}
	// A grant may have come without its handle.
	space := coord.Space{Fingerprint: seen.fingerprint, Scale: scale, LastTick: v[5], Capacity: int(v[6])}
	switch {
	case token != "":
		extent = nil // another call that resumes the same grant may still be under way
	case extent == nil:
		extent = protocol.NewExtent(g.NotAfter)
	}
	return c.granted(g, space, seen, extent), nil
}

// extend makes the call of a renewal, and again if it was overtaken.
func (c *Coordinator) extend(ctx context.Context, op operation, g coord.Grant, token string, until int64, extent *protocol.Extent) (reply, snapshot, error) {
	for {
		args := append(c.grantArgs(g), until, token)
		answered := extent.Asks(until)
		r, seen, err := c.ask(ctx, op, renewScript, args...)
		copied, refused := errors.AsType[*protocol.CopiedError](err)
		if v, bad := r.ints(2, 1); err == nil && bad == nil {
			extent.Reaches(v[0]) // the server may have cut it
		}
		answered(err != nil && !refused || refused && copied.Until == until) // the client may have sent it twice
		if !overtaken(err, extent) {
			return r, seen, err
		}
	}
}

// overtaken reports whether a call has met a window which reaches further than the call could
// know, because a later one for the same grant, or the same one sent before, has asked for
// that: then there is no copy.
func overtaken(err error, extent *protocol.Extent) bool {
	copied, ok := errors.AsType[*protocol.CopiedError](err)
	asked, known := extent.Until()
	return ok && known && copied.Until <= asked
}

// Release implements [coord.Coordinator]. It makes one call to Redis, and again if a renewal of
// the same grant has overtaken that.
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	for {
		_, err := c.do(ctx, about("release", g), releaseScript, append(c.grantArgs(g), last)...)
		if h := c.own(g); h == nil || !overtaken(err, h.extent) {
			return err
		}
	}
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
