package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Init implements [coord.Admin]. A namespace that was not declared new is quarantined
// for [MaxHorizon] and the skew bound when it is first used: to Redis, one that was
// never there and one that is lost look the same.
func (c *Coordinator) Init(ctx context.Context, s coord.Space) error {
	if s.Fingerprint == "" || s.Scale.Unit <= 0 || s.LastTick <= 0 || s.Capacity <= 0 {
		return fmt.Errorf("%w: Space has fingerprint %q, unit %d, last tick %d and capacity %d; none may be empty or 0", coord.ErrInvalid, s.Fingerprint, s.Scale.Unit, s.LastTick, s.Capacity)
	}
	if err := checkScale(s.Scale, s.LastTick); err != nil {
		return err
	}
	if err := lifetime.CheckDeclared(s.MaxHorizon, c.rules(), "a Redis can lose the namespace itself, and with it how far its windows reach"); err != nil {
		return err
	}
	_, err := c.do(ctx, operation{
		what:     "declaration",
		complete: func(err error) error { return mismatched(err, s.Fingerprint) },
	}, initScript, spaceArgs(s)...)
	return err
}

// Quarantine implements [coord.Admin].
func (c *Coordinator) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	arg := any("")
	if !until.IsZero() {
		if latest := protocol.Time(largestTick); until.Before(protocol.Time(0)) || until.After(latest) {
			return time.Time{}, fmt.Errorf("%w: the floor is to be raised to %v; it is a time from 1970 to %s", coord.ErrInvalid, until, latest.Format(time.DateOnly))
		}
		arg = until.UnixMicro()
	}
	return floorOf(c.do(ctx, operation{what: "raise the floor"}, quarantineScript, arg))
}

// Lower implements [coord.Admin]. The server's clock says where windows can reach.
func (c *Coordinator) Lower(ctx context.Context) (time.Time, error) {
	return floorOf(c.do(ctx, operation{what: "lower the floor"}, lowerScript))
}

// floorOf reads a floor from a reply.
func floorOf(r reply, err error) (time.Time, error) {
	if err != nil {
		return time.Time{}, err
	}
	v, err1 := r.ints(1, 1)
	scale, err2 := r.scale(2)
	if err := errors.Join(err1, err2); err != nil {
		return time.Time{}, err
	}
	return protocol.Time(scale.Micro(v[0])), nil
}

// Retire implements [coord.Admin].
func (c *Coordinator) Retire(ctx context.Context, workerID int) error {
	if workerID < 0 {
		return fmt.Errorf("%w: worker ID %d; worker IDs are 0 or more", coord.ErrInvalid, workerID)
	}
	_, err := c.do(ctx, operation{what: fmt.Sprintf("retire worker ID %d", workerID)}, retireScript, workerID)
	return err
}
