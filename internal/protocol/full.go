package protocol

import (
	"context"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// overdue is when a lease ends that should have: any moment.
const overdue = time.Second

// leaseSlack is by how much what a back end says of the end of a lease may differ from
// look to look although the holder has shown no life.
const leaseSlack = 4 * time.Second

// lastLook is what was seen last of a lease.
type lastLook struct {
	mark  string
	first time.Time // when it was first seen that way
	end   time.Time // when it was said to end
}

// full is the error if every worker ID of the share is held. Most likely the lease ends
// first that was not renewed for the longest time.
func (a *acquisition) full(ctx context.Context, s Session, sv *Survey) error {
	full := &coord.NoWorkerIDError{Namespace: a.set.Namespace, Capacity: a.req.Workers.Count - sv.Retired, InUse: len(sv.Owned) - sv.Retired}
	oldest := slices.SortedStableFunc(slices.Values(sv.Holders), func(x, y Holder) int { return int(min(max(x.Changed-y.Changed, -1), 1)) })
	for _, l := range s.Leases(ctx, oldest) {
		if l.Retired {
			full.Capacity--
			full.InUse--
			continue
		}
		end, renewed := a.endOf(l)
		if full.Soonest.IsZero() || end.Before(full.Soonest) {
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

// endOf returns when a lease ends unless it is renewed, and when it was renewed last, by
// the holder's clock; zero: it has begun anew with the back end since, so that this says
// nothing.
//
// While the holder shows no life the end stays the same, so that whoever looks twice can
// tell. A lease ends no later than its TTL after the last sign of life. Where the back end
// does not tell when, one that lasts for longer was begun anew, and ends at the latest a
// TTL after it was first seen that way.
func (a *acquisition) endOf(l Lease) (end, renewed time.Time) {
	now := Time(a.clock())
	look := lastLook{mark: l.Mark, first: now}
	a.mu.Lock()
	defer a.mu.Unlock()
	known, seen := a.looked[l.Worker]
	if seen = seen && known.mark == l.Mark; seen {
		look.first = known.first
	}
	renewed = Time(l.Renewed)
	switch {
	case l.Left >= 0:
		if look.end = now.Add(l.Left); seen && look.end.Before(known.end.Add(leaseSlack)) {
			look.end = known.end
		}
	default:
		if look.end = renewed.Add(l.TTL); look.end.Before(now) {
			look.end, renewed = look.first.Add(l.TTL), time.Time{}
			if soon := now.Add(overdue); look.end.Before(soon) {
				look.end = soon
			}
		}
	}
	a.looked[l.Worker] = look
	return look.end, renewed
}
