package storetest

import (
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func nothing(r *rig) {
	s := r.open("")
	if sv := s.survey(protocol.Ask{}); sv.Meta.There() || sv.Made || sv.Slots != 0 ||
		sv.Worker != -1 || sv.Last != -1 || len(sv.Owned) > 0 {
		r.Errorf("a survey of nothing: %+v", sv)
	}
	if v := s.look(3, ""); v.Meta.There() || v.Slot.There() || v.Owned {
		r.Errorf("a look at nothing: %+v", v)
	}
	for _, slots := range []bool{false, true} {
		if l, err := s.List(r.Context(), slots); err != nil || l.Meta.There() ||
			len(l.Slots)+len(l.Owned)+len(l.Unreadable) > 0 {
			r.Errorf("a list of nothing: %+v, %v", l, err)
		}
	}
}

func made(r *rig) {
	ask := r.ask("a")
	first, second := r.open("a").survey(ask), r.open("b").find()
	if !first.Made || !first.Meta.There() || first.Meta.Record != ask.New(protocol.Span{}) {
		r.Errorf("the first survey: %+v", first)
	}
	if second.Made || second.Meta.Record != first.Meta.Record ||
		second.Meta.Version != first.Meta.Version {
		safetytest.Of(r).Errorf("the second survey: %+v, after %+v", second, first)
	}
	if first.Ticket > 0 && second.Ticket == first.Ticket {
		safetytest.Of(r).Errorf("both surveys have ticket %d", first.Ticket)
	}
}

func surveyed(r *rig) {
	s, v := r.grant(5, "a")
	s.held(v)
	again := s.find()
	if again.Worker != 5 || again.Last != 5 || !slices.Equal(again.Owned, []int{5}) ||
		len(again.Holders) != 1 || again.Holders[0].Worker != 5 {
		r.Errorf("a survey of the holder: %+v", again)
	}
	if again.LastSlot.There() && again.LastSlot.Record != v.Slot.Record {
		r.Errorf("the last slot is %+v, want %+v", again.LastSlot.Record, v.Slot.Record)
	}
	other := r.open("b").find()
	if other.Worker != -1 || other.Last != -1 || !slices.Equal(other.Owned, []int{5}) {
		r.Errorf("a survey of another: %+v", other)
	}
	probes, err := s.Probe(r.Context(), []int{7, 5})
	if err != nil || len(probes) != 2 || probes[0].Slot.There() ||
		probes[1].Slot.Record != v.Slot.Record {
		r.Errorf("probes: %+v, %v", probes, err)
	}
}

func shared(r *rig) {
	for id, token := range map[int]string{2: "a", 9: "b", 10: "c", 12: "d"} {
		r.grant(id, token)
	}
	for _, c := range []struct {
		share coord.Range
		want  []int
	}{
		{coord.Range{}, []int{2, 9, 10, 12}},
		{coord.Range{Count: workers}, []int{2, 9, 10, 12}},
		{coord.Range{First: 9, Count: 3}, []int{9, 10}},
		{coord.Range{First: 3, Count: 6}, nil},
	} {
		ask := r.ask("e")
		ask.Share = c.share
		if sv := r.open("e").survey(ask); !slices.Equal(sv.Owned, c.want) ||
			len(sv.Holders) != len(c.want) {
			r.Errorf("of %+v, %v are owned, and there are %d holders; want %v", c.share,
				sv.Owned, len(sv.Holders), c.want)
		}
	}
}

func peeked(r *rig) {
	ask := protocol.Ask{Share: coord.Range{First: 2, Count: 3}, Peek: true}
	if sv := r.open("a").survey(ask); sv.Meta.There() || len(sv.Owned) > 0 {
		r.Errorf("nothing is there, and a peek shows %+v", sv)
	}
	_, v := r.grant(3, "a")
	r.grant(9, "b")
	waits, before := r.open("c"), int64(0)
	for n := range 4 {
		sv := waits.survey(ask)
		if sv.Meta.Record != v.Meta.Record || !slices.Equal(sv.Owned, []int{3}) || len(sv.Holders) != 1 {
			r.Errorf("a peek shows %+v", sv)
		}
		if n == 0 && r.Writes != nil { // the first may have opened a connection
			before = r.Writes(r)
		}
	}
	if r.Writes != nil && r.Writes(r) != before {
		r.Errorf("the back end was written to %d times by peeks", r.Writes(r)-before)
	}
}

func listed(r *rig) {
	_, v := r.grant(4, "a")
	r.grant(11, "b")
	s := r.open("")
	l, err := s.List(r.Context(), true)
	if err != nil || len(l.Slots) != 2 || l.Slots[0] != v.Slot.Record || l.Slots[1].Worker != 11 ||
		!slices.Equal(l.Owned, []int{4, 11}) || len(l.Unreadable) > 0 {
		r.Errorf("a list: %+v, %v", l, err)
	}
	if l, err = s.List(r.Context(), false); err != nil || l.Meta.Record != v.Meta.Record {
		r.Errorf("a list without slots: %+v, %v", l, err)
	}
}

// clocked: a survey tells the back end's clock if there is one, and the session knows from then on
// what it says.
func clocked(r *rig) {
	s := r.open("a")
	last := protocol.Span{}
	for range 3 {
		reading, now := s.find().Server, s.Time()
		switch {
		case reading == (protocol.Span{}) && now == reading && last == reading: // there is none
		case reading.Low == 0, reading.High < reading.Low, reading.Low < last.Low, now.Low < reading.Low,
			now.High < reading.High, now.High < now.Low:
			safetytest.Of(r).Errorf("after %v the back end's clock said %v, and the session says %v", last,
				reading, now)
		}
		last = reading
	}
}

func numbered(r *rig) {
	s := r.open("a")
	last := s.find().Position
	follows := func(what string, p protocol.Position) {
		r.Helper()
		if p.Number != 0 && (p.Number < last.Number || p.Wrote && p.Number == last.Number) ||
			p.Lineage != "" && p.Lineage != last.Lineage {
			safetytest.Of(r).Errorf("%s: %+v follows %+v", what, p, last)
		}
		last.Number = max(last.Number, p.Number)
	}
	v := &protocol.View{Meta: s.find().Meta}
	change := r.grantOf(v.Meta, 3, "a")
	for range 3 {
		out := s.commit(change)
		follows("a commit", out.Position)
		if before := v.Slot; !out.Done || before.There() && (out.Now.Slot.Version <= before.Version ||
			out.Now.Slot.Made != before.Made && before.Made != protocol.MadeUnknown) {
			safetytest.Of(r).Errorf("version %d made in %d follows version %d made in %d",
				out.Now.Slot.Version, out.Now.Slot.Made, before.Version, before.Made)
		}
		follows("a look", s.look(3, "a").Position)
		follows("a survey", s.find().Position)
		v = s.look(3, "a")
		change = s.renewalOf(v)
	}
}

func stale(r *rig) {
	s, held := r.grant(3, "a")
	op := r.open("")
	before := op.survey(protocol.Ask{}).Meta
	meta := before.Record
	meta.Floor++
	now := op.done(protocol.Change{Before: &protocol.View{Meta: before}, Meta: &meta})
	if now.Meta.Record != meta || now.Meta.Version <= before.Version ||
		op.survey(protocol.Ask{}).Meta.Record != meta {
		safetytest.Of(r).Errorf("the namespace's record is %+v, want %+v", now.Meta, meta)
	}
	next := meta
	next.Floor++
	op.refused(protocol.Change{Before: &protocol.View{Meta: before}, Meta: &next},
		protocol.ConflictElsewhere)
	// Whoever read the record before is refused whatever else is changed, or told that the record is
	// another one by now.
	if out := s.commit(s.renewalOf(held)); out.Done {
		r.lapsed(out, meta)
		r.lapsed(r.open("b").commit(r.grantOf(before, 4, "b")), meta)
	} else {
		s.refused(s.renewalOf(held), protocol.ConflictElsewhere)
		s.refused(releaseOf(held), protocol.ConflictElsewhere)
		r.open("b").refused(r.grantOf(before, 4, "b"), protocol.ConflictElsewhere)
	}
	s.renew(s.look(3, "a"))
}

// lapsed checks that a change which is done may not be used before what is stored was looked at.
func (r *rig) lapsed(out protocol.Outcome, meta protocol.Meta) {
	r.Helper()
	if !out.Done || !out.Lapsed || out.Now.Kept || out.Now.Meta.Record != meta {
		safetytest.Of(r).Errorf("Done %t, Lapsed %t, and the namespace's record is %+v; want that it "+
			"is done and %+v", out.Done, out.Lapsed, out.Now.Meta, meta)
	}
}

// hidden: a slot that is there is found, whatever is lost by which the store lists it.
func hidden(r *rig) {
	if r.Hide == nil {
		r.Skip("skipped: this store has no list that could leave something out")
	}
	s, v := r.grant(3, "a")
	r.grant(4, "b")
	for _, worker := range []int{3, -1} {
		r.Hide(r, worker)
		s.held(v)
		if sv := r.open("c").find(); !slices.Equal(sv.Owned, []int{3, 4}) || sv.Made ||
			sv.Origin != sv.Lineage && sv.Origin != "" {
			r.Errorf("a survey with a slot that is not listed: %+v", sv)
		}
		if l, err := s.List(r.Context(), true); err != nil || len(l.Slots) != 2 ||
			len(l.Unreadable) > 0 {
			r.Errorf("a list with a slot that is not listed: %+v, %v", l, err)
		}
		v = s.renew(v)
		s.held(v)
	}
}

// full: where no slot can be made, those that are there are granted, and the error of others says
// why.
func full(r *rig) {
	if r.Full == nil {
		r.Skip("skipped: this store makes nothing that could be refused")
	}
	s, v := r.grant(3, "a")
	freed := s.done(releaseOf(v))
	r.Full(r)
	other := r.open("b")
	other.refused(r.grantOf(other.find().Meta, 4, "b"), protocol.ConflictElsewhere)
	sv := other.find()
	if sv.Why == nil || len(sv.Barred) != workers-1 || slices.Contains(sv.Barred, 3) ||
		!slices.Equal(sv.Preferred, []int{3}) {
		r.Errorf("a survey where no slot can be made: %+v", sv)
	}
	other.held(other.done(r.grantTo(r.request("b"), sv.Meta, freed.Slot, 3)))
}

func staleSlot(r *rig) {
	s, v := r.grant(3, "a")
	r.open("b").refused(r.grantOf(v.Meta, 3, "b"), protocol.ConflictSlot)
	s.renew(v)
	s.refused(s.renewalOf(v), protocol.ConflictSlot)
	s.refused(releaseOf(v), protocol.ConflictSlot)
}

func oneToken(r *rig) {
	s, v := r.grant(3, "a")
	s.refused(r.grantOf(v.Meta, 4, "a"), protocol.ConflictElsewhere)
	s.held(v)
}

func renewed(r *rig) {
	s, v := r.grant(3, "a")
	if !s.Holds(v) {
		r.Error("a session does not hold what it was granted")
	}
	change := s.renewalOf(v)
	now := s.done(change)
	s.held(now)
	if now.Slot.Record != *change.Slot {
		safetytest.Of(r).Errorf("stored is %+v, want %+v", now.Slot.Record, *change.Slot)
	}
	// The program was started again, and the mark of its first session still stands.
	again := r.open("a")
	again.held(again.renew(again.look(3, "a")))
}

func resumed(r *rig) {
	_, v := r.grant(3, "a")
	r.grant(4, "c")
	resume := func(s session) protocol.Change {
		c := s.renewalOf(s.look(3, "a"))
		c.Slot.Token, c.Slot.Generation = s.token, c.Slot.Generation+1
		c.Owner, c.Token, c.Replaced = protocol.OwnerTaken, s.token, "a"
		return c
	}
	s := r.open("c")
	s.refused(resume(s), protocol.ConflictElsewhere) // which has another worker ID
	s = r.open("b")
	s.held(s.done(resume(s)))
	if sv := r.open("a").survey(protocol.Ask{Token: "a"}); sv.Worker != -1 {
		safetytest.Of(r).Errorf("the token that was replaced leads to %d", sv.Worker)
	}
	r.open("a").refused(releaseOf(v), anything)
}

func freed(r *rig) {
	s, v := r.grant(3, "a")
	release := releaseOf(v)
	now, slot := s.done(release), *release.Slot
	if now.Owned || now.Slot.Record != slot || s.Holds(now) {
		safetytest.Of(r).Errorf("after a release: %+v", now)
	}
	other := r.open("b")
	sv := other.find()
	if len(sv.Owned)+len(sv.Holders) > 0 || s.find().Worker != -1 ||
		s.find().Last != 3 {
		safetytest.Of(r).Errorf("after a release, a survey shows %+v", sv)
	}
	other.held(other.done(r.grantTo(r.request("b"), sv.Meta, other.look(3, "b").Slot, 3)))
}
