package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// errUnread says that leases could not be read.
var errUnread = errors.New("try again")

// full is the error if every worker ID of the share is held. Most likely the lease ends
// first that was not renewed for the longest time.
func (a *acquisition) full(ctx context.Context) error {
	sv := a.sv
	full := &coord.NoWorkerIDError{
		Namespace: a.set.Namespace,
		Capacity:  a.req.Workers.Count - sv.Retired, InUse: len(sv.Owned) - sv.Retired,
	}
	oldest := slices.SortedStableFunc(slices.Values(sv.Holders), func(x, y Holder) int {
		return cmp.Compare(x.Changed, y.Changed)
	})
	leases := a.s.Leases(ctx, oldest)
	if len(leases) == 0 && len(oldest) > 0 && !a.set.Endless { //mutant:leases-unread
		why := errAgain // mostly they have ended just now
		if a.unread {
			why = errUnread
		}
		a.unread = true
		return fmt.Errorf("%d of %d worker IDs are held, and when their leases end could not be read: %w",
			full.InUse, full.Capacity, cmp.Or(ctx.Err(), why))
	}
	for _, l := range leases {
		if l.Retired {
			full.Capacity--
			full.InUse--
			continue
		}
		if end, renewed := l.ends(Time(a.clock())); full.Soonest.IsZero() || end.Before(full.Soonest) {
			full.Soonest, full.LastSeen = end, renewed
		}
	}
	if a.set.OneMachine {
		// A back end of one machine may end and begin with the programs that use it: a holder
		// that renewed just now may have been killed together with it.
		full.LastSeen = time.Time{}
	}
	return full
}

// ends returns when a lease ends unless it is renewed, and when it was renewed last, by
// the holder's clock; zero: it has begun anew with the back end since, so that this says
// nothing. Where the back end does not tell, a lease ends its TTL after it was renewed, and one
// that lasts for longer, which was begun anew, a TTL from now at the latest.
func (l Lease) ends(now time.Time) (end, renewed time.Time) {
	if renewed = Time(l.Renewed); l.Left >= 0 {
		return now.Add(l.Left), renewed
	}
	if end = renewed.Add(l.TTL); end.Before(now) {
		return now.Add(l.TTL), time.Time{}
	}
	return end, renewed
}
