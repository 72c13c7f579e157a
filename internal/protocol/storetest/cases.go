package storetest

import (
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

func nothing(r *rig) {
	s := r.open("")
	if sv := r.survey(s, protocol.Ask{}); sv.Meta.There() || sv.Made || sv.Slots != 0 ||
		sv.Worker != -1 || sv.Last != -1 || len(sv.Owned) > 0 {
		r.Errorf("a survey of nothing: %+v", sv)
	}
	if v := r.look(s, 3, ""); v.Meta.There() || v.Slot.There() || v.Owned {
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
	first, second := r.survey(r.open("a"), ask), r.survey(r.open("b"), r.ask("b"))
	if !first.Made || !first.Meta.There() || first.Meta.Record != ask.New(0) {
		r.Errorf("the first survey: %+v", first)
	}
	if second.Made || second.Meta.Record != first.Meta.Record ||
		second.Meta.Version != first.Meta.Version {
		r.Errorf("the second survey: %+v, after %+v", second, first)
	}
	if first.Begin > 0 && second.Begin == first.Begin {
		r.Errorf("both surveys begin at %d", first.Begin)
	}
}

func surveyed(r *rig) {
	s, v := r.grant(5, "a")
	r.held(s, v, "a")
	again := r.survey(s, r.ask("a"))
	if again.Worker != 5 || again.Last != 5 || !slices.Equal(again.Owned, []int{5}) ||
		len(again.Holders) != 1 || again.Holders[0].Worker != 5 {
		r.Errorf("a survey of the holder: %+v", again)
	}
	if again.LastSlot.There() && again.LastSlot.Record != v.Slot.Record {
		r.Errorf("the last slot is %+v, want %+v", again.LastSlot.Record, v.Slot.Record)
	}
	other := r.survey(r.open("b"), r.ask("b"))
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
		if sv := r.survey(r.open("e"), ask); !slices.Equal(sv.Owned, c.want) ||
			len(sv.Holders) != len(c.want) {
			r.Errorf("of %+v, %v are owned, and there are %d holders; want %v", c.share, sv.Owned,
				len(sv.Holders), c.want)
		}
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

func numbered(r *rig) {
	s := r.open("a")
	last := r.survey(s, r.ask("a")).Position
	follows := func(what string, p protocol.Position) {
		r.Helper()
		if p.Number != 0 && (p.Number < last.Number || p.Wrote && p.Number == last.Number) ||
			p.Lineage != "" && p.Lineage != last.Lineage {
			r.Errorf("%s: %+v follows %+v", what, p, last)
		}
		last.Number = max(last.Number, p.Number)
	}
	v := &protocol.View{Meta: r.survey(s, r.ask("a")).Meta}
	change := r.grantOf(v.Meta, 3, "a")
	for range 3 {
		out := r.commit(s, change)
		follows("a commit", out.Position)
		if before := v.Slot; !out.Done || before.There() && (out.Now.Slot.Version <= before.Version ||
			out.Now.Slot.Made != before.Made && before.Made != protocol.MadeUnknown) {
			r.Errorf("version %d made in %d follows version %d made in %d", out.Now.Slot.Version,
				out.Now.Slot.Made, before.Version, before.Made)
		}
		follows("a look", r.look(s, 3, "a").Position)
		follows("a survey", r.survey(s, r.ask("a")).Position)
		v = r.look(s, 3, "a")
		change = r.renewalOf(s, v)
	}
}

func stale(r *rig) {
	s, held := r.grant(3, "a")
	op := r.open("")
	before := r.survey(op, protocol.Ask{}).Meta
	meta := before.Record
	meta.Floor++
	now := r.done(op, protocol.Change{Before: &protocol.View{Meta: before}, Meta: &meta})
	if now.Meta.Record != meta || now.Meta.Version <= before.Version ||
		r.survey(op, protocol.Ask{}).Meta.Record != meta {
		r.Errorf("the namespace's record is %+v, want %+v", now.Meta, meta)
	}
	next := meta
	next.Floor++
	r.refused(op, protocol.Change{Before: &protocol.View{Meta: before}, Meta: &next},
		protocol.ConflictElsewhere)
	// Whoever read the record before is refused whatever else is changed, or told that the record is
	// another one by now.
	if out := r.commit(s, r.renewalOf(s, held)); out.Done {
		r.lapsed(out, meta)
		r.lapsed(r.commit(r.open("b"), r.grantOf(before, 4, "b")), meta)
	} else {
		r.refused(s, r.renewalOf(s, held), protocol.ConflictElsewhere)
		r.refused(s, releaseOf(held), protocol.ConflictElsewhere)
		r.refused(r.open("b"), r.grantOf(before, 4, "b"), protocol.ConflictElsewhere)
	}
	r.done(s, r.renewalOf(s, r.look(s, 3, "a")))
}

// lapsed checks that a change which is done may not be used before what is stored was looked at.
func (r *rig) lapsed(out protocol.Outcome, meta protocol.Meta) {
	r.Helper()
	if !out.Done || !out.Lapsed || out.Now.Kept || out.Now.Meta.Record != meta {
		r.Errorf("Done %t, Lapsed %t, and the namespace's record is %+v; want that it is done and %+v",
			out.Done, out.Lapsed, out.Now.Meta, meta)
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
		r.held(s, v, "a")
		if sv := r.survey(r.open("c"), r.ask("c")); !slices.Equal(sv.Owned, []int{3, 4}) || sv.Made ||
			sv.Origin != sv.Lineage && sv.Origin != "" {
			r.Errorf("a survey with a slot that is not listed: %+v", sv)
		}
		if l, err := s.List(r.Context(), true); err != nil || len(l.Slots) != 2 ||
			len(l.Unreadable) > 0 {
			r.Errorf("a list with a slot that is not listed: %+v, %v", l, err)
		}
		v = r.done(s, r.renewalOf(s, v))
		r.held(s, v, "a")
	}
}

// full: where no slot can be made, those that are there are granted, and the error of others says
// why.
func full(r *rig) {
	if r.Full == nil {
		r.Skip("skipped: this store makes nothing that could be refused")
	}
	s, v := r.grant(3, "a")
	freed := r.done(s, releaseOf(v))
	r.Full(r)
	other := r.open("b")
	r.refused(other, r.grantOf(r.survey(other, r.ask("b")).Meta, 4, "b"), protocol.ConflictElsewhere)
	sv := r.survey(other, r.ask("b"))
	if sv.Why == nil || len(sv.Barred) != workers-1 || slices.Contains(sv.Barred, 3) ||
		sv.Begin != 1+3 {
		r.Errorf("a survey where no slot can be made: %+v", sv)
	}
	c := r.grantOf(sv.Meta, 3, "b")
	c.Before.Slot = freed.Slot
	r.held(other, r.done(other, c), "b")
}

func staleSlot(r *rig) {
	s, v := r.grant(3, "a")
	r.refused(r.open("b"), r.grantOf(v.Meta, 3, "b"), protocol.ConflictSlot)
	r.done(s, r.renewalOf(s, v))
	r.refused(s, r.renewalOf(s, v), protocol.ConflictSlot)
	r.refused(s, releaseOf(v), protocol.ConflictSlot)
}

func oneToken(r *rig) {
	s, v := r.grant(3, "a")
	r.refused(s, r.grantOf(v.Meta, 4, "a"), protocol.ConflictElsewhere)
	r.held(s, v, "a")
}

func renewed(r *rig) {
	s, v := r.grant(3, "a")
	if !s.Holds(v) {
		r.Error("a session does not hold what it was granted")
	}
	change := r.renewalOf(s, v)
	now := r.done(s, change)
	r.held(s, now, "a")
	if now.Slot.Record != *change.Slot {
		r.Errorf("stored is %+v, want %+v", now.Slot.Record, *change.Slot)
	}
	// The program was started again, and the mark of its first session still stands.
	again := r.open("a")
	r.held(again, r.done(again, r.renewalOf(again, r.look(again, 3, "a"))), "a")
}

func resumed(r *rig) {
	_, v := r.grant(3, "a")
	r.grant(4, "c")
	resume := func(s protocol.Session, token string) protocol.Change {
		c := r.renewalOf(s, r.look(s, 3, "a"))
		c.Slot.Token, c.Slot.Generation = token, c.Slot.Generation+1
		c.Owner, c.Token, c.Replaced = protocol.OwnerTaken, token, "a"
		return c
	}
	s := r.open("c")
	r.refused(s, resume(s, "c"), protocol.ConflictElsewhere) // which has another worker ID
	s = r.open("b")
	r.held(s, r.done(s, resume(s, "b")), "b")
	if sv := r.survey(r.open("a"), protocol.Ask{Token: "a"}); sv.Worker != -1 {
		r.Errorf("the token that was replaced leads to %d", sv.Worker)
	}
	r.refused(r.open("a"), releaseOf(v), anything)
}

func freed(r *rig) {
	s, v := r.grant(3, "a")
	release := releaseOf(v)
	now, slot := r.done(s, release), *release.Slot
	if now.Owned || now.Slot.Record != slot || s.Holds(now) {
		r.Errorf("after a release: %+v", now)
	}
	other := r.open("b")
	sv := r.survey(other, r.ask("b"))
	if len(sv.Owned)+len(sv.Holders) > 0 || r.survey(s, r.ask("a")).Worker != -1 ||
		r.survey(s, r.ask("a")).Last != 3 {
		r.Errorf("after a release, a survey shows %+v", sv)
	}
	c := r.grantOf(sv.Meta, 3, "b")
	c.Before.Slot = r.look(other, 3, "b").Slot
	c.Slot.Generation = slot.Generation + 1
	r.held(other, r.done(other, c), "b")
}
