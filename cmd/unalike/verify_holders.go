package main

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/verify"
)

// holders are the worker IDs that a coordinator knows; nil: none was asked.
type holders map[int]holder

// holder is a worker ID, and how exactly the IDs tell the time that were made with it.
type holder struct {
	coord.Slot
	unit time.Duration
}

// holders asks the coordinator at p, whose layout has to be that of the IDs, and also returns what
// it has granted.
func (a *app) holders(ctx context.Context, p place, layout core.Layout) (holders, verify.Grants,
	error,
) {
	known, grants := holders{}, verify.Grants{Until: map[int]time.Time{}}
	return known, grants, a.with(ctx, p, mustExist, func(n *namespace) error {
		slots, unreadable := n.List(ctx)
		if unreadable != nil && (len(slots) == 0 || ctx.Err() != nil) {
			return unreadable
		}
		if unreadable != nil {
			a.complain("unalike: not every worker ID can be read: %v\n", unreadable)
		}
		info, err := n.inspect(ctx)
		if err != nil {
			return err
		}
		grants.Floor, grants.Partial = info.Floor, unreadable != nil || !n.whole
		for _, s := range slots {
			if s.Layout != "" && s.Layout != layout.String() {
				return usageError{fmt.Errorf("%s grants worker IDs for layout %s, and the IDs are read with "+
					"%v; name their layout with --layout", n.name, s.Layout, layout)}
			}
			known[s.WorkerID] = holder{s, layout.Unit}
			if hadWindow(s) {
				grants.Until[s.WorkerID] = s.Until
			}
		}
		return nil
	})
}

// of returns what is known of the worker IDs of duplicates.
func (h holders) of(r *verify.Report) []coord.Slot {
	var out []coord.Slot
	for _, w := range r.Workers {
		if s, ok := h[w.WorkerID]; ok && w.Duplicates > 0 {
			out = append(out, s.Slot)
		}
	}
	return out
}

// describe says who held the worker ID of a duplicate when it was made; empty: nobody was asked.
func (h holders) describe(c verify.Clash) string {
	if h == nil || c.Parts == nil {
		return ""
	}
	s, ok := h[c.Parts.WorkerID]
	if !ok || !hadWindow(s.Slot) {
		return fmt.Sprintf("worker ID %d was never granted: this ID was made by a generator that did "+
			"not lease it from the coordinator", c.Parts.WorkerID)
	}
	holder := fmt.Sprintf("%s since %s, generation %d", holderName(s.Slot),
		s.Since.UTC().Format(timeForm), s.Generation)
	switch made := c.Parts.Time; {
	case !made.Before(s.Until):
		return fmt.Sprintf("made after the last window of worker ID %d ended, %s: by a generator that "+
			"did not lease it from the coordinator, or the coordinator has lost state",
			s.WorkerID, s.Until.UTC().Format(timeForm))
	case !made.Add(s.unit).After(s.Since): // its whole tick
		return fmt.Sprintf("made by an earlier holder of worker ID %d, which the coordinator does not "+
			"remember; the last one is %s", s.WorkerID, holder)
	}
	return fmt.Sprintf("worker ID %d was held by %s; it is %s", s.WorkerID, holder, s.State)
}
