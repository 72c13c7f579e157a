package coordtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// slot is what the fake stores for a worker ID. The fake's methods in this file are the atomic
// steps of a back end; it calls them with its lock held.
type slot struct {
	coord.Grant               // the last stored piece; no token: nobody holds it
	leaseEnd    int64         // microseconds since 1970
	used        uint64        // when it was last given or freed, for least recently used
	req         coord.Request // what the last holder asked for
}

// mine is the comparison of rules 6, 8 and 9.
func (sl *slot) mine(g coord.Grant) bool {
	return sl.Token == g.Token && sl.Generation == g.Generation && g.Token != ""
}

func (sl *slot) lost(g coord.Grant) error {
	return fmt.Errorf("%w: %v; the slot has generation %d, holder %q", coord.ErrLeaseLost, g,
		sl.Generation, sl.req.Holder)
}

// held reports whether the lease is not over.
func (sl *slot) held() bool { return sl.leaseEnd > time.Now().UnixMicro() }

func (sl *slot) extendLease() {
	sl.leaseEnd = time.Now().UnixMicro() + sl.req.TTL.Microseconds()
}

// slot returns that of a worker ID, which it makes if need be: whoever steals it has asked for no
// layout, and none ends its windows.
func (f *Fake) slot(id int) *slot {
	if f.slots[id] == nil {
		f.slots[id] = &slot{
			Grant: coord.Grant{WorkerID: id}, req: coord.Request{LastTick: math.MaxInt64},
		}
	}
	return f.slots[id]
}

func (f *Fake) acquire(req coord.Request) (coord.Grant, error) {
	if err := req.Validate(); err != nil {
		return coord.Grant{}, err
	}
	if f.fingerprint != "" && f.fingerprint != req.Fingerprint {
		return coord.Grant{}, &coord.LayoutMismatchError{
			Namespace: fakeName, Stored: f.fingerprint,
			Wanted: req.Fingerprint,
		}
	}
	f.fingerprint = req.Fingerprint
	for _, sl := range f.slots {
		if sl.Token == req.Token {
			sl.extendLease()
			return sl.Grant, nil
		}
	}
	id, err := f.choose(req)
	if err != nil {
		return coord.Grant{}, err
	}
	if from := f.opens(f.slot(id)); from > req.LastTick {
		return coord.Grant{}, fmt.Errorf("%w: the window of worker ID %d opens after tick %d and the "+
			"layout ends at tick %d", coord.ErrInvalid, id, from, req.LastTick)
	}
	return f.give(id, req), nil
}

// give gives a worker ID to who asks for it.
func (f *Fake) give(id int, req coord.Request) coord.Grant {
	sl := f.slot(id)
	f.uses++
	from := f.opens(sl)
	*sl = slot{
		Grant: coord.Grant{
			WorkerID: id, Generation: sl.Generation + 1, Token: req.Token, NotBefore: from,
			NotAfter: max(from, min(req.Until, req.LastTick)),
		},
		used: f.uses, req: req,
	}
	sl.extendLease()
	return sl.Grant
}

// choose picks a free worker ID: the identity's last one, else the least recently
// used one, of those whose window opens in time; else the one that opens first.
func (f *Fake) choose(req coord.Request) (int, error) {
	share := req.Workers
	if f.cfg.Workers > 0 {
		share.Count = min(share.Count, f.cfg.Workers-share.First)
	}
	e := &coord.NoWorkerIDError{Namespace: fakeName, Capacity: max(share.Count, 0)}
	best, least, soonest := -1, []int64{math.MaxInt64}, int64(math.MaxInt64)
	for id := share.First; id < share.First+share.Count; id++ {
		sl := f.slot(id)
		if sl.held() {
			e.InUse++
			soonest = min(soonest, sl.leaseEnd)
			continue
		}
		rank := []int64{0, int64(sl.used)}
		switch {
		case f.opens(sl) > req.OpenBy:
			rank = []int64{1, f.opens(sl)}
		case req.Identity != "" && sl.req.Identity == req.Identity:
			rank[1] = -1
		}
		if slices.Compare(rank, least) < 0 {
			best, least = id, rank
		}
	}
	switch unopened := best >= 0 && least[0] == 1; {
	case unopened && req.MustOpen && f.floor > req.OpenBy:
		return 0, &coord.QuarantinedError{
			Namespace: fakeName, Until: time.UnixMicro(req.Scale.Micro(f.floor + 1)),
		}
	case unopened && req.MustOpen:
		soonest = req.Scale.Micro(least[1] + 1)
	case best >= 0:
		return best, nil
	}
	if soonest != math.MaxInt64 {
		e.Soonest = time.UnixMicro(soonest)
	}
	return 0, e
}

// opens is where the window of the next holder begins.
func (f *Fake) opens(sl *slot) int64 { return max(sl.NotAfter, f.floor) }

func (f *Fake) renew(g coord.Grant, until int64) (coord.Grant, error) {
	sl := f.slot(g.WorkerID)
	if !sl.mine(g) {
		return coord.Grant{}, sl.lost(g)
	}
	sl.extendLease()
	from := g.NotBefore
	if cut := max(f.floor, sl.NotBefore); cut > g.NotAfter {
		from = cut
	}
	stored := max(sl.NotAfter, g.NotAfter, min(until, sl.req.LastTick))
	if from >= stored && from > g.NotAfter {
		// A piece with nothing in it. The lease is kept, the window is not.
		return coord.Grant{}, &coord.QuarantinedError{
			Namespace: fakeName,
			Until:     time.UnixMicro(sl.req.Scale.Micro(from + 1)),
		}
	}
	sl.NotBefore, sl.NotAfter = max(sl.NotBefore, from), stored
	g.NotBefore, g.NotAfter = from, stored
	return g, nil
}

// resume is a renewal that puts a new token beside it. One that was done before is a
// renewal of what it has made.
func (f *Fake) resume(g coord.Grant, token string, until int64) (coord.Grant, error) {
	sl, next := f.slot(g.WorkerID), g
	next.Token, next.Generation = token, g.Generation+1
	switch {
	case sl.mine(g):
		sl.Token, sl.Generation = next.Token, next.Generation
	case !sl.mine(next):
		return coord.Grant{}, sl.lost(g)
	}
	return f.renew(next, until)
}

func (f *Fake) release(g coord.Grant, last int64) error {
	sl := f.slot(g.WorkerID)
	if !sl.mine(g) {
		return sl.lost(g)
	}
	f.uses++
	sl.NotAfter = min(sl.NotAfter, max(last, sl.NotBefore))
	sl.Token, sl.req.Holder, sl.leaseEnd, sl.used = "", "", 0, f.uses
	f.notifyFreed()
	return nil
}
