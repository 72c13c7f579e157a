package main

import (
	"context"
	"errors"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// lookPause is the time between two looks at leases that are about to end.
const lookPause = 500 * time.Millisecond

// endOf is follow.EndOf, but it waits for the leases of holders that seem to be dead. The
// leases of an embedded etcd stand still while no program runs it, and begin anew with
// the next one: without waiting, they would never end.
func (a *app) endOf(ctx context.Context, old *namespace, s coord.Space) (follow.Ending, error) {
	var dead deadHolders
	for {
		end, err := follow.EndOf(ctx, old, s)
		held, ok := errors.AsType[*follow.HeldError](err)
		if !ok || !dead.worthWaiting(held.Slots, time.Now()) {
			return end, err
		}
		if !dead.told {
			dead.told = true
			a.complain("unalike: %d worker IDs of %s are held, but their holders have not renewed for a "+
				"while; waiting until %s for their leases to end ...\n",
				len(held.Slots), old.name, dead.until.UTC().Format(timeForm))
		}
		if !lifetime.Sleep(ctx, lookPause) {
			return end, context.Cause(ctx)
		}
	}
}

// deadHolders watches leases whose holders seem to be dead.
type deadHolders struct {
	renewed map[int]time.Time // by worker ID, at the first look; nil: there was none
	until   time.Time         // when all of these leases have ended, if nobody renews them
	told    bool
}

// leaseSlack is how much later than it should a back end may end a lease.
const leaseSlack = 5 * time.Second

// worthWaiting reports whether all holders seem to be dead, and their leases may end
// soon. A holder that lives renews at least twice in its TTL.
func (d *deadHolders) worthWaiting(held []coord.Slot, now time.Time) bool {
	first := d.renewed == nil
	if first {
		d.renewed = map[int]time.Time{}
	}
	for _, s := range held {
		ttl := s.TTL
		if ttl == 0 {
			ttl = coord.DefaultTTL
		}
		switch before, known := d.renewed[s.WorkerID]; {
		case first && now.Sub(s.Renewed) <= ttl/2:
			return false
		case first:
			d.renewed[s.WorkerID] = s.Renewed
			if end := now.Add(ttl + leaseSlack); end.After(d.until) {
				d.until = end
			}
		case !known || !before.Equal(s.Renewed):
			return false
		}
	}
	return now.Before(d.until)
}
