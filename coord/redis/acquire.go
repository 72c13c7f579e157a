package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// largestTick is where the numbers of Redis' scripts stop being exact.
const largestTick = 1<<53 - 1

// spaceArgs are a namespace as the scripts read it.
func spaceArgs(s coord.Space) []any {
	return []any{s.Fingerprint, s.Scale.Epoch, s.Scale.Unit, s.LastTick, s.Capacity}
}

// Acquire implements [coord.Coordinator]. It makes one call to Redis, however many
// worker IDs are held.
func (c *Coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := c.checkRequest(req); err != nil {
		return coord.Grant{}, err
	}
	space := protocol.SpaceOf(req)
	args := append(spaceArgs(space),
		req.Workers.First, req.Workers.Count, req.Token, req.Identity, protocol.Printable(req.Holder), req.TTL.Milliseconds(),
		req.Now, min(req.Until, req.LastTick), min(req.OpenBy, req.LastTick))
	r, seen, err := c.ask(ctx, operation{
		what:     "acquire a worker ID",
		complete: func(err error) error { return refused(err, req) },
	}, acquireScript, args...)
	if err != nil {
		return coord.Grant{}, err
	}
	v, err := r.ints(1, 4)
	if err != nil {
		return coord.Grant{}, err
	}
	c.advise(r)
	g := coord.Grant{WorkerID: int(v[0]), Generation: uint64(v[1]), Token: req.Token, NotBefore: v[2], NotAfter: v[3]}
	return c.granted(g, space, seen, protocol.NewExtent(g.NotAfter)), nil
}

// refused completes the error of an acquisition with what the request says.
func refused(err error, req coord.Request) error {
	var skew *coord.ClockSkewError
	if errors.As(err, &skew) {
		skew.Local = protocol.Time(req.Scale.Micro(req.Now))
	}
	return mismatched(err, req.Fingerprint)
}

// mismatched completes the error of another layout.
func mismatched(err error, wanted string) error {
	var mismatch *coord.LayoutMismatchError
	if errors.As(err, &mismatch) {
		mismatch.Wanted = wanted
	}
	return err
}

// advise logs what the server's settings cost, once.
func (c *Coordinator) advise(r reply) {
	policy, err1 := r.text(5)
	guard, err2 := r.text(6)
	if err1 != nil || err2 != nil || c.advised.Swap(true) {
		return
	}
	if strings.HasPrefix(policy, "volatile") {
		c.log.Warn("Redis may evict leases when its memory is full, and worker IDs change hands early; set maxmemory-policy to noeviction",
			"namespace", c.namespace, "policy", policy)
	}
	if guard != "" {
		c.log.Warn("Redis has replicas, and a master that is cut off from them goes on confirming windows; set min-replicas-to-write",
			"namespace", c.namespace)
	}
}

// checkRequest tells whether this driver can serve a request at all.
func (c *Coordinator) checkRequest(req coord.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if err := checkTTL(req.TTL); err != nil {
		return err
	}
	if err := checkScale(req.Scale, req.LastTick); err != nil {
		return err
	}
	switch {
	case req.TTL < MinTTL:
		return fmt.Errorf("%w: TTL is %v; Redis needs at least %v", coord.ErrInvalid, req.TTL, MinTTL)
	case req.Workers.Count > MaxShare:
		return fmt.Errorf("%w: Request.Workers.Count is %d; Redis keeps an index of the share, and at most %d are allowed; set WorkerIDs", coord.ErrInvalid, req.Workers.Count, MaxShare)
	}
	return lifetime.CheckHorizon(req, c.rules())
}

// checkScale refuses what the scripts cannot compute with.
func checkScale(s clock.Scale, last int64) error {
	switch {
	case last > largestTick:
		return fmt.Errorf("%w: the layout ends at tick %d; the scripts in Redis count exactly up to %d; use a layout with fewer time bits, or another coordinator", coord.ErrInvalid, last, int64(largestTick))
	case s.Epoch < 0 || s.Epoch > largestTick || s.Unit > largestTick:
		return fmt.Errorf("%w: the layout's epoch is %d and its unit %d microseconds; the scripts in Redis count exactly from 0 to %d", coord.ErrInvalid, s.Epoch, s.Unit, int64(largestTick))
	}
	return nil
}
