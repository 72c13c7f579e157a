package kubernetes

import (
	"context"
	"errors"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// tries is how often something is tried again before it is given up.
const tries = 20

// crowd is how often somebody else is faster before it is time to list again, and to make more
// slots.
const crowd = 2

// mendAfter is how many looks whoever has made a record has until others do what is left.
const mendAfter = 4

// Survey implements [protocol.Session]. What others have left half done is finished first.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	if ask.Peek {
		a, err := s.list(ctx)
		if err != nil || a.meta == nil {
			return &protocol.Survey{Worker: -1, Last: -1}, err
		}
		return s.surveyOf(a, ask, false), a.damage
	}
	if err := s.barred("patch", acquiring); err != nil {
		return nil, err // whoever makes a survey is about to write
	}
	made := false
	for n := range tries {
		if err := lifetime.Pause(ctx, n); err != nil {
			return nil, err
		}
		a, err := s.list(ctx)
		switch {
		case err != nil:
			return nil, err
		case a.damage != nil:
			return nil, a.damage
		case a.meta == nil && len(a.slots) == 0 && ask.New == nil:
			return &protocol.Survey{
				Position: protocol.Position{Server: a.server}, Worker: -1, Last: -1,
			}, nil
		}
		ready, now, err := s.mend(ctx, a, ask, made || n >= mendAfter)
		made = made || now
		if err != nil {
			return nil, err
		}
		if ready {
			return s.surveyOf(a, ask, made), a.tooMany(ask)
		}
	}
	return nil, errors.New("what is stored in the cluster kept changing; try again")
}

// mend does what others have left half done, if it is late, and makes a record that is not there,
// which it reports. One session of a process does it. A list is ready if there is nothing to do.
func (s *session) mend(
	ctx context.Context, a *all, ask protocol.Ask, overdue bool,
) (ready, made bool, err error) {
	switch {
	case a.meta != nil && a.missing() != "":
		return true, false, nil
	case a.meta != nil && a.meta.settled():
		ready, err = s.markRest(ctx, a, ask.Token)
	case a.meta != nil && !overdue:
	case !a.mended.CompareAndSwap(false, true):
	case a.meta != nil:
		_, err = s.finishMarks(ctx, a.meta, a)
	default:
		made, err = s.make(ctx, a, ask)
	}
	return ready, made, err
}

// markRest marks a worker ID that is a token's, or retired, if whoever has made its object has not
// come to do that. It reports whether there was nothing to do.
func (s *session) markRest(ctx context.Context, a *all, token string) (none bool, _ error) {
	for id, o := range a.slots {
		rest := o.Ends == forever || token != "" && o.Token == token //mutant:kube-unmarked
		if rest && a.marksOf(id).marked(id) == "" {
			_, err := s.mark(ctx, id, o)
			return false, err
		}
	}
	return true, nil
}

// make makes a namespace's record: that of a new one, or one that its slots tell of. It reports
// whether it was made here.
func (s *session) make(ctx context.Context, a *all, ask protocol.Ask) (bool, error) {
	if ask.New == nil {
		return false, s.errNoNamespace()
	}
	meta := ask.New(a.server)
	if len(a.slots)+len(a.marks) > 0 {
		meta = ask.Again(a.server, protocol.Meta{
			Fingerprint: meta.Fingerprint,
			Floor:       a.most(func(o *object) int64 { return max(o.Floor, o.Base) }),
			Base:        a.most(func(o *object) int64 { return o.Base }),
		})
	}
	o := &object{name: s.objectName(-1)}
	c, err := holding(o.next(), meta)
	if err != nil {
		return false, err
	}
	c.Writes = a.newest() + 1
	_, done, err := s.write(ctx, o, c)
	return done, err
}

// tooMany refuses a share of worker IDs of which some can have no object.
func (a *all) tooMany(ask protocol.Ask) error {
	end := min(ask.Share.First+ask.Share.Count, a.record.Record.Capacity)
	if ask.New == nil || end <= MaxCapacity {
		return nil
	}
	return invalid.Errorf("the share of worker IDs ends at %d; this driver makes an object for each, "+
		"and at most %d: choose a layout with fewer, or a share below it", end,
		MaxCapacity)
}

// surveyOf reads a list.
func (s *session) surveyOf(a *all, ask protocol.Ask, made bool) *protocol.Survey {
	sv := &protocol.Survey{
		Position: protocol.Position{Server: a.server},
		Meta:     a.record, Made: made, Worker: s.leads(a, ask.Token), Last: -1, Slots: len(a.slots),
		Origin: a.missing(), Others: func(context.Context) []string { return a.others },
	}
	meta := &sv.Meta.Record
	if a.newest() > a.meta.Writes { // slots know what the record has forgotten
		meta.Base = max(meta.Base, a.most(func(o *object) int64 { return o.Base }))
		meta.Floor = max(meta.Floor, meta.Base, a.most(func(o *object) int64 { return o.Floor }))
	}
	for _, id := range a.ids() {
		o, n := a.slots[id], id-ask.Share.First
		if ask.Identity != "" {
			e, err := slotEntry(o, id)
			if r := e.Record; err == nil && r.Identity == ask.Identity &&
				r.Since >= sv.LastSlot.Record.Since {
				sv.Last, sv.LastSlot = id, e
			}
		}
		if in := ask.Share.Count == 0 || n >= 0 && n < ask.Share.Count; !in || !s.owned(o, a.server.Low) {
			continue
		}
		sv.Owned = append(sv.Owned, id)
		if o.Ends == forever {
			sv.Retired++
		} else {
			sv.Holders = append(sv.Holders, protocol.Holder{Worker: id, Changed: o.Ends, Lease: o})
		}
	}
	s.mu.Lock()
	crowded := s.beaten >= crowd
	s.listed, s.beaten = a, 0
	s.mu.Unlock()
	s.choose(a, sv, ask.Share, crowded)
	return sv
}

// seen is what the last survey has listed, or what a list shows now if something was changed since.
func (s *session) seen(ctx context.Context) (*all, error) {
	s.mu.Lock()
	a := s.listed
	s.mu.Unlock()
	if a != nil {
		return a, nil
	}
	return s.list(ctx)
}

// choose says which worker IDs of a share to look at: those that have an object, unless there are
// none, or others have been faster with them. Those who choose begin at different ones.
func (s *session) choose(a *all, sv *protocol.Survey, share coord.Range, crowded bool) {
	var made, other []int
	for id := share.First; id < min(share.First+share.Count, MaxCapacity); id++ {
		switch o := a.slots[id]; {
		case o == nil:
			other = append(other, id)
		case o.damage == nil && !s.owned(o, a.server.Low):
			made = append(made, id)
		}
	}
	if sv.Why = s.barred("create"); sv.Why != nil {
		sv.Barred, other = other, nil
	}
	if crowded || len(made) == 0 {
		made = append(made, other...)
	}
	slices.Sort(made)
	sv.Preferred, sv.Ticket = made, s.ticket.Add(1)
}

// leads returns the worker ID that a token holds; -1: none. It may hold two, when a grant was done
// that its holder had given up; either is as good.
func (s *session) leads(a *all, token string) int {
	for _, id := range a.ids() {
		if o := a.slots[id]; token != "" && o.Token == token && s.owned(o, a.server.Low) {
			return id
		}
	}
	return -1
}
