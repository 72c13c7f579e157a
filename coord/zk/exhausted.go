package zk

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// surveyed is how many slots are read to tell when the next one is free.
const surveyed = 1024

// exhausted is the error if every worker ID of the share is held.
func (a *acquisition) exhausted(ctx context.Context, s *session, sv *survey) error {
	share := a.req.Workers
	full := &coord.NoWorkerIDError{Namespace: a.namespace, Capacity: share.Count, InUse: len(sv.owned)}
	reads := make([]request, 0, min(share.Count, surveyed))
	for i := range cap(reads) {
		reads = append(reads, get(a.nodes.slot(sv.owned[i*len(sv.owned)/cap(reads)])))
	}
	replies, err := a.fetch(ctx, s, reads...)
	if err != nil {
		return fmt.Errorf("%w (when the next is free is not known: %w)", full, err)
	}
	var held []protocol.Slot
	for _, r := range replies {
		slot, err := read[protocol.Slot]("", r)
		switch {
		case err != nil:
		case slot.rec.Retired:
			full.Capacity--
			full.InUse--
		case slot.rec.Token != "":
			held = append(held, slot.rec)
		}
	}
	full.Soonest, full.LastSeen = a.soonest(held, a.clock())
	return full
}

// soonest is when the first of some held worker IDs is free unless its holder renews, and
// when that one has renewed last, by its own clock, now being in microseconds since 1970;
// the zero time if there is none, or its session was begun anew.
//
// The session of a holder ends no later than its TTL after its last sign of life, of
// which the last renewal is one that is on record. One that lasts for longer was begun
// anew with the servers, after an outage: it ends a TTL after that, and so at the
// latest a TTL after it was first seen that way. That moment does not move from look
// to look, unless the holder shows that it lives.
func (c *Coordinator) soonest(held []protocol.Slot, now int64) (end, lastSeen time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first, seen int64
	looked := make(map[int]look, len(held))
	for _, slot := range held {
		last := look{generation: slot.Generation, renewed: slot.Renewed, at: now}
		if before, ok := c.looked[slot.Worker]; ok && before.generation == last.generation && before.renewed == last.renewed {
			last.at = before.at
		}
		looked[slot.Worker] = last
		ttl := slot.Lease().Microseconds()
		end, renewed := max(slot.Renewed, 0)+ttl, slot.Renewed
		if end < now {
			end, renewed = max(last.at+ttl, now+overdue.Microseconds()), 0
		}
		if first == 0 || end < first {
			first, seen = end, renewed
		}
	}
	c.looked = looked
	if first != 0 {
		end = protocol.Time(first)
	}
	if seen > 0 {
		lastSeen = protocol.Time(seen)
	}
	return end, lastSeen
}

// overdue is when a session ends that should have: any moment, with the servers' ticks.
const overdue = time.Second

// look is the last renewal of a worker ID, and when it was first seen to be the last.
type look struct {
	generation  uint64
	renewed, at int64
}
