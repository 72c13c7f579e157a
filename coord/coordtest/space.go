package coordtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// slot is what the fake stores for a worker ID.
type slot struct {
	token      string // of the holder; empty: nobody
	identity   string // of the last holder
	holder     string
	generation uint64
	from       int64 // the last stored piece is (from, stored]
	stored     int64
	leaseEnd   int64         // microseconds since 1970
	used       uint64        // when it was last given or freed, for least recently used
	req        coord.Request // what the holder asked for
}

// mine is the comparison of rules 6, 8 and 9.
func (sl *slot) mine(g coord.Grant) bool {
	return sl.token == g.Token && sl.generation == g.Generation && g.Token != ""
}

func (sl *slot) lost(g coord.Grant) error {
	return fmt.Errorf("%w: %v; the slot has generation %d, holder %q", coord.ErrLeaseLost, g,
		sl.generation, sl.holder)
}

// grant returns the last stored piece.
func (sl *slot) grant(id int) coord.Grant {
	return coord.Grant{
		WorkerID: id, Generation: sl.generation, Token: sl.token, NotBefore: sl.from,
		NotAfter: sl.stored,
	}
}

// space is one namespace of the fake. Its methods are the atomic steps of a back
// end; the fake calls them with its lock held.
type space struct {
	limit       int // worker IDs; 0: as many as a request's share has
	fingerprint string
	floor       int64
	slots       map[int]*slot
	uses        uint64
}

// slot returns that of a worker ID, which it makes if need be: whoever steals it has asked for no
// layout, and none ends its windows.
func (s *space) slot(id int) *slot {
	if s.slots[id] == nil {
		s.slots[id] = &slot{req: coord.Request{LastTick: math.MaxInt64}}
	}
	return s.slots[id]
}

func (s *space) acquire(req coord.Request) (coord.Grant, error) {
	if err := req.Validate(); err != nil {
		return coord.Grant{}, err
	}
	if s.fingerprint != "" && s.fingerprint != req.Fingerprint {
		return coord.Grant{}, &coord.LayoutMismatchError{
			Namespace: fakeName, Stored: s.fingerprint,
			Wanted: req.Fingerprint,
		}
	}
	s.fingerprint = req.Fingerprint
	for id, sl := range s.slots {
		if sl.token == req.Token {
			s.extendLease(sl)
			return sl.grant(id), nil
		}
	}
	id, err := s.choose(req)
	if err != nil {
		return coord.Grant{}, err
	}
	if from := s.opens(s.slot(id)); from > req.LastTick {
		return coord.Grant{}, fmt.Errorf("%w: the window of worker ID %d opens after tick %d and the "+
			"layout ends at tick %d", coord.ErrInvalid, id, from, req.LastTick)
	}
	return s.give(id, req), nil
}

// give gives a worker ID to who asks for it.
func (s *space) give(id int, req coord.Request) coord.Grant {
	sl := s.slot(id)
	s.uses++
	from := s.opens(sl)
	*sl = slot{
		token: req.Token, identity: req.Identity, holder: req.Holder, generation: sl.generation + 1,
		from: from, stored: max(from, min(req.Until, req.LastTick)), used: s.uses, req: req,
	}
	s.extendLease(sl)
	return sl.grant(id)
}

// choose picks a free worker ID: the identity's last one, else the least recently
// used one, of those whose window opens in time; else the one that opens first.
func (s *space) choose(req coord.Request) (int, error) {
	share := req.Workers
	if s.limit > 0 {
		share.Count = min(share.Count, s.limit-share.First)
	}
	e := &coord.NoWorkerIDError{Namespace: fakeName, Capacity: max(share.Count, 0)}
	best, least, soonest := -1, []int64{math.MaxInt64}, int64(math.MaxInt64)
	for id := share.First; id < share.First+share.Count; id++ {
		sl := s.slot(id)
		if sl.token != "" && sl.leaseEnd > time.Now().UnixMicro() {
			e.InUse++
			soonest = min(soonest, sl.leaseEnd)
			continue
		}
		rank := []int64{0, int64(sl.used)}
		switch {
		case s.opens(sl) > req.OpenBy:
			rank = []int64{1, s.opens(sl)}
		case req.Identity != "" && sl.identity == req.Identity:
			rank[1] = -1
		}
		if slices.Compare(rank, least) < 0 {
			best, least = id, rank
		}
	}
	if best >= 0 {
		return best, nil
	}
	if soonest != math.MaxInt64 {
		e.Soonest = time.UnixMicro(soonest)
	}
	return 0, e
}

// opens is where the window of the next holder begins.
func (s *space) opens(sl *slot) int64 { return max(sl.stored, s.floor) }

func (s *space) renew(g coord.Grant, until int64) (coord.Grant, error) {
	sl := s.slot(g.WorkerID)
	if !sl.mine(g) {
		return coord.Grant{}, sl.lost(g)
	}
	s.extendLease(sl)
	from := g.NotBefore
	if cut := max(s.floor, sl.from); cut > g.NotAfter {
		from = cut
	}
	stored := max(sl.stored, g.NotAfter, min(until, sl.req.LastTick))
	if from >= stored && from > g.NotAfter {
		// A piece with nothing in it. The lease is kept, the window is not.
		return coord.Grant{}, &coord.QuarantinedError{
			Namespace: fakeName,
			Until:     time.UnixMicro(sl.req.Scale.Micro(from + 1)),
		}
	}
	sl.from, sl.stored = max(sl.from, from), stored
	g.NotBefore, g.NotAfter = from, stored
	return g, nil
}

// resume is a renewal that puts a new token beside it. One that was done before is a
// renewal of what it has made.
func (s *space) resume(g coord.Grant, token string, until int64) (coord.Grant, error) {
	sl, next := s.slot(g.WorkerID), g
	next.Token, next.Generation = token, g.Generation+1
	switch {
	case sl.mine(g):
		sl.token, sl.generation = next.Token, next.Generation
	case !sl.mine(next):
		return coord.Grant{}, sl.lost(g)
	}
	return s.renew(next, until)
}

func (s *space) release(g coord.Grant, last int64) error {
	sl := s.slot(g.WorkerID)
	if !sl.mine(g) {
		return sl.lost(g)
	}
	s.uses++
	sl.stored = min(sl.stored, max(last, sl.from))
	sl.token, sl.holder, sl.leaseEnd, sl.used = "", "", 0, s.uses
	return nil
}

func (s *space) extendLease(sl *slot) {
	sl.leaseEnd = time.Now().UnixMicro() + sl.req.TTL.Microseconds()
}
