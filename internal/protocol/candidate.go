package protocol

import (
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
)

// Candidate is a worker ID that nobody holds.
type Candidate struct {
	ID   int
	Slot Slot // zero: it has none
}

// opens is NotBefore of the next grant.
//
//mutant:grant-floor
func (c Candidate) opens(floor int64) int64 { return max(c.Slot.NotAfter, floor) }

// OpensLater is 0 for a window that opens in time, and otherwise grows with the tick.
func (c Candidate) OpensLater(floor, openBy int64) int64 {
	return max(c.opens(floor)-max(openBy, 0), 0)
}

// Unusable tells why a candidate cannot be granted, if it cannot. Reach is the tick
// beyond which no right clock can have pushed a window.
func (c Candidate) Unusable(meta Meta, req coord.Request, farthest int64) error {
	switch {
	case c.Slot.Retired:
		return invalid.Errorf("worker ID %d was retired and its owner key is gone; retire it again", c.ID)
	case c.Slot.NotAfter > max(meta.Floor, farthest):
		return invalid.Errorf("the window of worker ID %d ends at %s, further ahead than any holder "+
			"with a right clock can have pushed it; retire the worker ID, or set this machine's clock if "+
			"it is behind", c.ID, Stamp(req.Scale.Micro(c.Slot.NotAfter)))
	case meta.Floor == req.LastTick-1:
		return invalid.Errorf("the floor of the namespace reaches the end of the layout, at %s, so that "+
			"nothing can be granted; if a wrong clock has raised it, set that clock and lower the "+
			"floor with Lower", Stamp(req.Scale.Micro(req.LastTick)))
	case c.opens(meta.Floor) > req.LastTick:
		return invalid.Errorf("the window of worker ID %d opens after tick %d and the layout "+
			"ends at tick %d", c.ID, c.opens(meta.Floor), req.LastTick)
	case c.Slot.Generation != 0 && c.Slot.Fingerprint != req.Fingerprint: //mutant:slot-layout
		return invalid.Errorf("the slot of worker ID %d has layout %s and its namespace has %s", c.ID,
			c.Slot.Fingerprint, req.Fingerprint)
	}
	return nil
}

// Granted is the slot of a new grant of the candidate, by rule 2 of package coord.
func (c Candidate) Granted(meta Meta, req coord.Request, now int64) Slot {
	from := c.opens(meta.Floor)
	return Slot{
		Version: Version, Worker: c.ID, Token: req.Token, Identity: req.Identity,
		Holder:     Printable(req.Holder),
		Generation: c.Slot.Generation + 1, Opened: from, NotBefore: from,
		NotAfter: max(from, min(req.Until, req.LastTick)),
		LastTick: req.LastTick, Fingerprint: req.Fingerprint,
		Since: now, Renewed: now, TTL: req.TTL.Milliseconds(),
	}
}

// FreeFrom returns up to n worker IDs of the share that are not owned: from start on in ascending
// order, and after the last one of the share from the first one on. Owned is in ascending order,
// and start is in the share.
func FreeFrom(share coord.Range, owned []int, start, n int) (free []int) {
	for i := 0; i < share.Count && len(free) < n; i++ {
		id := share.First + (start-share.First+i)%share.Count
		if _, held := slices.BinarySearch(owned, id); !held {
			free = append(free, id)
		}
	}
	return free
}
