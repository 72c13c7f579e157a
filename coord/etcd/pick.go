package etcd

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unalike-id/unalike/coord"
)

// probes is how many free worker IDs an acquisition looks at before it chooses.
const probes = 32

// candidate is a worker ID that nobody holds.
type candidate struct {
	id   int
	rev  int64      // ModRevision of its slot; 0: it has none
	slot slotRecord // zero: it has none
}

// opens is NotBefore of the next grant.
func (c candidate) opens(floor int64) int64 { return max(c.slot.NotAfter, floor) }

// freeFrom returns up to n worker IDs of the share that are not owned, in the order
// in which a ticket tries them: from its own place round the ring. Tickets are
// numbered without gaps, so simultaneous starters begin at different places, and
// what was freed last comes last. Owned is in ascending order.
func freeFrom(share coord.Range, owned []int, ticket int64, n int) []int {
	var free []int
	start := share.First + int(ticket%int64(share.Count))
	run := func(from, to int) {
		i, _ := slices.BinarySearch(owned, from)
		for id := from; id < to && len(free) < n; id++ {
			if i < len(owned) && owned[i] == id {
				i++
				continue
			}
			free = append(free, id)
		}
	}
	run(start, share.First+share.Count)
	run(share.First, start)
	return free
}

// rank orders candidates: first those whose window opens in time, as they come,
// then the others by when they open. Those that can never serve the request are
// left out, and the error says why; it is nil if all of them can.
func rank(all []candidate, meta metaRecord, req coord.Request, reach int64) ([]candidate, error) {
	var usable []candidate
	var why error
	for _, c := range all {
		if err := unusable(c, meta, req, reach); err != nil {
			if why == nil {
				why = err
			}
			continue
		}
		usable = append(usable, c)
	}
	slices.SortStableFunc(usable, func(a, b candidate) int {
		return cmp.Compare(late(a, meta.Floor, req.OpenBy), late(b, meta.Floor, req.OpenBy))
	})
	return usable, why
}

// late is 0 for a window that opens in time, and otherwise grows with the tick.
func late(c candidate, floor, openBy int64) int64 {
	return max(c.opens(floor)-max(openBy, 0), 0)
}

// unusable tells why a candidate cannot be granted.
func unusable(c candidate, meta metaRecord, req coord.Request, reach int64) error {
	switch {
	case c.slot.Retired:
		return fmt.Errorf("%w: worker ID %d was retired and its owner key is gone; retire it again", coord.ErrInvalid, c.id)
	case c.slot.NotAfter > max(meta.Floor, reach):
		return fmt.Errorf("%w: the window of worker ID %d ends at %s, further ahead than any holder with a right clock can have pushed it; retire the worker ID, or set this machine's clock if it is behind",
			coord.ErrInvalid, c.id, stamp(req.Scale.Micro(c.slot.NotAfter)))
	case c.opens(meta.Floor) > req.LastTick:
		return fmt.Errorf("%w: the window of worker ID %d opens after tick %d and the layout ends at tick %d", coord.ErrInvalid, c.id, c.opens(meta.Floor), req.LastTick)
	case c.slot.Generation != 0 && c.slot.Fingerprint != req.Fingerprint:
		return fmt.Errorf("%w: the slot of worker ID %d has layout %s and its namespace has %s", coord.ErrInvalid, c.id, c.slot.Fingerprint, req.Fingerprint)
	}
	return nil
}
