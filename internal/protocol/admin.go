package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// visitRoom is for how many worker IDs there is room in the answers to an operator.
const visitRoom = 1 << 20

// Init implements [coord.AdminCoordinator]. A namespace need not be declared before it is used: one
// that was never seen is taken to be new. The record of one that is there stays as it is,
// because a floor is never lowered, but for one that is there because nobody knew whether the
// namespace is new.
func (c *Coordinator) Init(ctx context.Context, space coord.Space) error {
	if err := lifetime.CheckDeclared(space.MaxHorizon, c.rules(), c.set.ShortOnly); err != nil {
		return err
	}
	fresh := NewMeta(space)
	if err := fresh.Check(); err != nil {
		return invalid.Errorf("Space: %w", err)
	}
	return c.admin(ctx, "declare the namespace new",
		func(ctx context.Context, s Session, refused refusals) error {
			sv, err := c.survey(ctx, s, c.making(Ask{}, fresh, true))
			if err != nil {
				return err
			}
			meta := sv.Meta.Record
			switch {
			case meta.Fingerprint != space.Fingerprint:
				return &coord.LayoutMismatchError{
					Namespace: c.set.Namespace, Stored: meta.Fingerprint,
					Wanted: space.Fingerprint,
				}
			case meta.MaxHorizon != space.MaxHorizon.Milliseconds():
				return invalid.Errorf("namespace %q is declared with a longest horizon of %v, and it is to be "+
					"declared with %v; that is fixed: use the stored one, or declare another namespace, which "+
					"can follow this one", c.set.Namespace, meta.Horizon(c.set.MaxHorizon),
					max(space.MaxHorizon, c.set.MaxHorizon))
			case sv.Slots > 0:
				return invalid.Errorf("the namespace is not new: worker IDs were granted in it; use " +
					"another namespace")
			}
			meta = meta.DeclaredNew()
			return done(c.replace(ctx, s, Change{
				Before: sv.view(), Meta: &meta, Unused: true,
				NoteLineage: true, Deadline: c.settling(sv).High,
			}, refused))
		})
}

// Quarantine implements [coord.AdminCoordinator]. With the zero time the operator says that the
// back end may have lost writes: that is on record then, and those who notice it later do not raise
// the floor again. If this machine's clock differs from the back end's, it is refused with a
// [*coord.ClockSkewError].
func (c *Coordinator) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	return c.changeFloor(ctx, "raise the floor", c.floorClock,
		func(meta Meta, at Span) (Meta, error) {
			if until.IsZero() {
				return meta.AfterLoss(c.detector.observation().meta, at, c.limits()), nil
			}
			return meta.Quarantine(until)
		})
}

// Lower implements [coord.AdminCoordinator]. Clocks are compared as Quarantine does.
func (c *Coordinator) Lower(ctx context.Context) (time.Time, error) {
	return c.changeFloor(ctx, "lower the floor", c.lowerClock,
		func(meta Meta, at Span) (Meta, error) {
			return meta.Lowered(at.High, c.limits())
		})
}

// changeFloor changes the namespace's record by an operator's wish and by a clock, and returns
// the floor that holds then. Nothing is written if nothing changes, or if this machine's clock
// is wrong.
func (c *Coordinator) changeFloor(ctx context.Context, what string,
	clock func(sv *Survey, now int64) (Span, error),
	change func(meta Meta, at Span) (Meta, error),
) (time.Time, error) {
	var floor time.Time
	err := c.admin(ctx, what, func(ctx context.Context, s Session, refused refusals) error {
		sv, err := c.survey(ctx, s, Ask{})
		if err != nil {
			return err
		}
		if !sv.Meta.There() {
			return errNoNamespace
		}
		at, err := clock(sv, c.now())
		if err != nil {
			return err
		}
		meta, err := change(sv.Meta.Record, at)
		if err != nil {
			return err
		}
		//mutant:closing-records
		if c.detector.observation().lost != "" && meta.Loss.Nonce == sv.Meta.Record.Loss.Nonce {
			// What was noticed goes on record first: under a floor that is higher, nothing else
			// tells how far the windows reach that were lost.
			return cmp.Or(c.raiseIfLost(ctx, s, 0), errAgain)
		}
		//mutant:close-again
		if floor = Time(meta.Scale().Micro(meta.Floor)); meta == sv.Meta.Record && !meta.Closed() {
			// which may not be all over yet
			return nil
		}
		return done(c.replace(ctx, s, Change{
			Before: sv.view(), Meta: &meta,
			NoteLineage: meta.Loss.Nonce != sv.Meta.Record.Loss.Nonce, Deadline: at.High,
		}, refused))
	})
	return floor, err
}

// errNoNamespace is the error of a change to a namespace that is not there.
var errNoNamespace = invalid.Errorf("there is no such namespace; declare it with Init first")

// Retire implements [coord.AdminCoordinator].
func (c *Coordinator) Retire(ctx context.Context, workerID int) error {
	if workerID < 0 || workerID > math.MaxInt32 {
		return invalid.Errorf("worker ID %d; worker IDs are 0 to %d", workerID,
			math.MaxInt32)
	}
	return c.admin(ctx, fmt.Sprintf("retire worker ID %d", workerID),
		func(ctx context.Context, s Session, refused refusals) error {
			v, err := c.look(ctx, s, workerID, "", nil)
			if err != nil {
				return err
			}
			change, already, err := planRetire(v, workerID, c.now())
			if already || err != nil {
				return err
			}
			return done(c.replace(ctx, s, change, refused))
		})
}

// done is the error of a change: errAgain if something else was changed meanwhile.
func done(out Outcome, err error) error {
	if err == nil && !out.Done {
		return errAgain
	}
	return err
}

// admin makes a change to the namespace in a session that ends with it. The change is
// made again if something else was changed meanwhile.
func (c *Coordinator) admin(ctx context.Context, what string,
	change func(context.Context, Session, refusals) error,
) error {
	return c.visit(ctx, what, func(ctx context.Context, s Session) error {
		refused := refusals{}
		return c.insist(ctx, func() error { return change(ctx, s, refused) })
	})
}

// visit makes calls for an operator, in a session that ends with them.
func (c *Coordinator) visit(ctx context.Context, what string,
	call func(context.Context, Session) error,
) error {
	return c.life.Do(ctx, what, func(ctx context.Context) error {
		return c.operate(func(s Session) error { return call(ctx, s) })
	})
}

// operate makes calls in a session of an operator, which ends with them.
func (c *Coordinator) operate(call func(Session) error) error {
	s, err := c.store.Open("", c.usualTTL(), visitRoom)
	if err != nil {
		return err
	}
	defer s.End() //mutant:operator-ends
	return call(s)
}

// List implements [coord.AdminCoordinator].
func (c *Coordinator) List(ctx context.Context) ([]coord.Slot, error) {
	var slots []coord.Slot
	var unreadable []error
	err := c.visit(ctx, "list the worker IDs", func(ctx context.Context, s Session) error {
		l, err := c.list(ctx, s, true)
		if err != nil {
			return err
		}
		unreadable = l.Unreadable
		for _, slot := range l.Slots {
			_, owned := slices.BinarySearch(l.Owned, slot.Worker)
			slots = append(slots, slot.Listed(l.Meta.Record, owned))
		}
		return nil
	})
	return slots, errors.Join(append([]error{err}, unreadable...)...)
}

// Inspect implements [coord.AdminCoordinator].
func (c *Coordinator) Inspect(ctx context.Context) (coord.Namespace, error) {
	var n coord.Namespace
	err := c.visit(ctx, "look at the namespace", func(ctx context.Context, s Session) error {
		l, err := c.list(ctx, s, false)
		if err == nil && l.Meta.There() {
			n = l.Meta.Record.Inspected()
		}
		return err
	})
	return n, err
}

// list reads a listing in a session, and takes note of what it shows.
func (c *Coordinator) list(ctx context.Context, s Session, slots bool) (*Listing, error) {
	at := c.detector.observation()
	l, err := s.List(ctx, slots)
	//mutant:listed
	if err == nil && l.Number != 0 { // else it may be older than what was seen before
		c.observe(at, answer{Position: l.Position, meta: &l.Meta}, c.seen(s, l.Position))
	}
	return l, err
}
