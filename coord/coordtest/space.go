package coordtest

import (
	"fmt"
	"math"
	"time"

	"github.com/unalike-id/unalike/clock"
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
	leaseEnd   int64         // microseconds by the fake's clock
	used       uint64        // when it was last given or freed, for least recently used
	req        coord.Request // what the holder asked for
}

// rules are the decisions of package coord's protocol, one function each, so that
// the test of the suite can break one of them at a time.
type rules struct {
	// sameLayout is rule 1.
	sameLayout func(stored, wanted string) bool
	// opens is rule 2: NotBefore of a new grant.
	opens func(s slot, floor, now int64) int64
	// ends is rule 2: NotAfter of a new grant.
	ends func(from, wanted int64) int64
	// stores is rules 2 and 6: the stored NotAfter.
	stores func(stored, wanted int64) int64
	// holds is rule 4: whether a token holds the slot already.
	holds func(s *slot, token string) bool
	// free is rule 5: whether the slot may be given away.
	free func(s slot, now int64) bool
	// next is the generation of a new grant.
	next func(stored uint64) uint64
	// mine is rules 6, 8 and 9: whether the slot is still that of the grant, for Renew,
	// Release or Resume.
	mine func(op Op, s slot, g coord.Grant) bool
	// resumed is the slot of a grant that is taken over under another token.
	resumed func(s slot, token string) slot
	// resumes is rule 8: whether Renew puts a lease back that has lapsed.
	resumes func(lapsed bool) bool
	// piece is rule 7: NotBefore of a renewal.
	piece func(g coord.Grant, s slot, floor int64) int64
	// trim is rule 9: the stored NotAfter after a release.
	trim func(s slot, last int64) int64
	// clamp is the layout's end.
	clamp func(wanted, last int64) int64
}

// correct are the rules as package coord has them.
func correct() rules {
	return rules{
		sameLayout: func(stored, wanted string) bool { return stored == wanted },
		opens:      func(s slot, floor, _ int64) int64 { return max(s.stored, floor) },
		ends:       func(from, wanted int64) int64 { return max(from, wanted) },
		stores:     func(stored, wanted int64) int64 { return max(stored, wanted) },
		holds:      func(s *slot, token string) bool { return s.token == token },
		free:       func(s slot, now int64) bool { return s.token == "" || s.leaseEnd <= now },
		next:       func(stored uint64) uint64 { return stored + 1 },
		mine: func(_ Op, s slot, g coord.Grant) bool {
			return s.token == g.Token && s.generation == g.Generation && g.Token != ""
		},
		resumed: func(s slot, token string) slot {
			s.token, s.generation = token, s.generation+1
			return s
		},
		resumes: func(bool) bool { return true },
		piece: func(g coord.Grant, s slot, floor int64) int64 {
			if cut := max(floor, s.from); cut > g.NotAfter {
				return cut
			}
			return g.NotBefore
		},
		trim:  func(s slot, last int64) int64 { return min(s.stored, max(last, s.from)) },
		clamp: func(wanted, last int64) int64 { return min(wanted, last) },
	}
}

// space is one namespace of the fake. Its methods are the atomic steps of a back
// end; the fake calls them with its lock held.
type space struct {
	name        string
	limit       int // worker IDs; 0: as many as a request's share has
	rules       rules
	clock       clock.Clock
	fingerprint string
	floor       int64
	slots       map[int]*slot
	uses        uint64
}

func newSpace(name string, limit int, c clock.Clock) *space {
	return &space{name: name, limit: limit, rules: correct(), clock: c, slots: map[int]*slot{}}
}

func (s *space) acquire(req coord.Request) (coord.Grant, error) {
	if err := req.Validate(); err != nil {
		return coord.Grant{}, err
	}
	if s.fingerprint != "" && !s.rules.sameLayout(s.fingerprint, req.Fingerprint) {
		return coord.Grant{}, &coord.LayoutMismatchError{
			Namespace: s.name, Stored: s.fingerprint,
			Wanted: req.Fingerprint,
		}
	}
	s.fingerprint = req.Fingerprint
	for id, sl := range s.slots {
		if s.rules.holds(sl, req.Token) {
			s.extendLease(sl)
			return sl.grant(id), nil
		}
	}
	id, err := s.choose(req)
	if err != nil {
		return coord.Grant{}, err
	}
	if s.slots[id] == nil {
		s.slots[id] = new(slot)
	}
	sl := s.slots[id]
	from := s.opens(*sl, req)
	if from > req.LastTick {
		return coord.Grant{}, fmt.Errorf("%w: the window of worker ID %d opens after tick %d and the "+
			"layout ends at tick %d", coord.ErrInvalid, id, from, req.LastTick)
	}
	until := s.rules.ends(from, s.rules.clamp(req.Until, req.LastTick))
	s.uses++
	*sl = slot{
		token: req.Token, identity: req.Identity, holder: req.Holder,
		generation: s.rules.next(sl.generation),
		from:       from, stored: s.rules.stores(sl.stored, until), used: s.uses, req: req,
	}
	s.extendLease(sl)
	g := sl.grant(id)
	g.NotAfter = until
	return g, nil
}

// choose picks a free worker ID: the identity's last one, else the least recently
// used one, of those whose window opens in time; else the one that opens first.
func (s *space) choose(req coord.Request) (int, error) {
	share := req.Workers
	if s.limit > 0 {
		share.Count = min(share.Count, s.limit-share.First)
	}
	var (
		best      = -1
		held      int
		soonest   int64 = math.MaxInt64
		bestKey   [2]int64
		candidate = func(id int, sl slot) {
			from := s.opens(sl, req)
			key := [2]int64{0, int64(sl.used)}
			if req.Identity != "" && sl.identity == req.Identity {
				key[1] = -1
			}
			if from > req.OpenBy {
				key = [2]int64{1, from}
			}
			if best < 0 || key[0] < bestKey[0] || key[0] == bestKey[0] && key[1] < bestKey[1] {
				best, bestKey = id, key
			}
		}
	)
	for id := share.First; id < share.First+share.Count; id++ {
		sl := s.slots[id]
		switch {
		case sl == nil:
			candidate(id, slot{})
		case s.rules.free(*sl, s.clock.UnixMicro()):
			candidate(id, *sl)
		default:
			held++
			soonest = min(soonest, sl.leaseEnd)
		}
	}
	if best >= 0 {
		return best, nil
	}
	e := &coord.NoWorkerIDError{Namespace: s.name, Capacity: max(share.Count, 0), InUse: held}
	if soonest != math.MaxInt64 {
		e.Soonest = time.UnixMicro(soonest)
	}
	return 0, e
}

func (s *space) renew(g coord.Grant, until int64) (coord.Grant, error) {
	sl := s.slots[g.WorkerID]
	if sl == nil || !s.rules.mine(Renew, *sl, g) ||
		!s.rules.resumes(sl.leaseEnd <= s.clock.UnixMicro()) {
		return coord.Grant{}, s.lost(g, sl)
	}
	s.extendLease(sl)
	from := s.rules.piece(g, *sl, s.floor)
	stored := s.rules.stores(max(sl.stored, g.NotAfter), s.rules.clamp(until, sl.req.LastTick))
	if from >= stored && from > g.NotAfter {
		// A piece with nothing in it. The lease is kept, the window is not.
		return coord.Grant{}, &coord.QuarantinedError{
			Namespace: s.name,
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
	next := g
	next.Token, next.Generation = token, g.Generation+1
	sl := s.slots[g.WorkerID]
	switch {
	case sl == nil:
		return coord.Grant{}, s.lost(g, sl)
	case s.rules.mine(Resume, *sl, g):
		*sl = s.rules.resumed(*sl, token)
		next.Token, next.Generation = sl.token, sl.generation
	case !s.rules.mine(Resume, *sl, next):
		return coord.Grant{}, s.lost(g, sl)
	}
	return s.renew(next, until)
}

func (s *space) release(g coord.Grant, last int64) error {
	sl := s.slots[g.WorkerID]
	if sl == nil || !s.rules.mine(Release, *sl, g) {
		return s.lost(g, sl)
	}
	s.uses++
	sl.stored = s.rules.trim(*sl, last)
	sl.token, sl.holder, sl.leaseEnd, sl.used = "", "", 0, s.uses
	return nil
}

func (s *space) lost(g coord.Grant, sl *slot) error {
	if sl == nil {
		return fmt.Errorf("%w: %v; the back end has no slot for it", coord.ErrLeaseLost, g)
	}
	return fmt.Errorf("%w: %v; the slot has generation %d, holder %q", coord.ErrLeaseLost, g,
		sl.generation, sl.holder)
}

func (s *space) opens(sl slot, req coord.Request) int64 {
	return s.rules.opens(sl, s.floor, req.Now)
}

func (s *space) extendLease(sl *slot) {
	sl.leaseEnd = s.clock.UnixMicro() + sl.req.TTL.Microseconds()
}

// grant returns the last stored piece.
func (sl *slot) grant(id int) coord.Grant {
	return coord.Grant{
		WorkerID: id, Generation: sl.generation, Token: sl.token, NotBefore: sl.from,
		NotAfter: sl.stored,
	}
}
