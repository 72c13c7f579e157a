package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// retire retires a worker ID.
func (r *rig) retire(worker int) {
	r.Helper()
	op := r.open("")
	v := op.look(worker, "")
	r.now++
	slot := v.Slot.Record.Withdrawn(v.Meta.Record, worker, scale.Micro(r.now))
	if now := op.done(protocol.Change{
		Before: v, Slot: &slot,
		Owner: protocol.OwnerForever,
	}); !now.Owned || now.Slot.Record != slot {
		safetytest.Of(r).Errorf("a retired worker ID: %+v", now)
	}
}

func retired(r *rig) {
	s, v := r.grant(3, "a")
	r.retire(3) // which is held
	r.retire(6) // which never was
	s.refused(s.renewalOf(v), protocol.ConflictSlot)
	if r.Pass != nil {
		r.Pass(2 * ttl)
	}
	sv := r.open("b").find()
	if !slices.Equal(sv.Owned, []int{3, 6}) || sv.Retired+len(sv.Holders) != 2 {
		safetytest.Of(r).Errorf("a survey with two that are retired: %+v", sv)
	}
	for _, l := range s.Leases(r.Context(), sv.Holders) {
		if !l.Retired {
			r.Errorf("the lease of a retired worker ID: %+v", l)
		}
	}
	r.open("b").refused(r.grantOf(sv.Meta, 6, "b"), protocol.ConflictSlot)
}

func unused(r *rig) {
	r.open("a").find()
	op := r.open("")
	declare := func() protocol.Change {
		sv := op.survey(protocol.Ask{})
		return protocol.Change{
			Before: &protocol.View{Meta: sv.Meta}, Meta: &sv.Meta.Record, Unused: true,
			NoteLineage: true,
		}
	}
	op.done(declare())
	s, v := r.grant(3, "a")
	op.refused(declare(), protocol.ConflictElsewhere)
	s.done(releaseOf(v))
	op.refused(declare(), protocol.ConflictElsewhere)
	if sv := op.survey(protocol.Ask{}); sv.Slots == 0 {
		r.Errorf("an operator's survey counts no slots: %+v", sv)
	}
}

// grace is for how long a back end may keep a lease beyond its TTL.
const grace = 5 * time.Second

// lease returns what a store says of the lease of a worker ID.
func (s session) lease(worker int) protocol.Lease {
	s.Helper()
	leases := s.Leases(s.Context(), s.survey(protocol.Ask{}).Holders)
	i := slices.IndexFunc(leases, func(l protocol.Lease) bool { return l.Worker == worker })
	if i < 0 {
		s.Fatalf("of worker ID %d, there is no lease in %+v", worker, leases)
	}
	return leases[i]
}

func leased(r *rig) {
	s, v := r.grant(3, "a")
	r.grant(4, "b")
	first := s.lease(3)
	if rec := v.Slot.Record; first.Renewed != rec.Renewed || first.TTL != ttl ||
		first.Left > ttl+grace || first.Retired {
		r.Errorf("a lease is %+v, and the slot %+v", first, rec)
	}
	if r.Pass != nil {
		r.Pass(ttl / 4)
	}
	now := s.renew(v)
	if next := s.lease(3); next.Renewed != now.Slot.Record.Renewed {
		r.Errorf("after a renewal, %+v became %+v", first, next)
	}
}

func keptAlive(r *rig) {
	if r.Pass == nil {
		r.Skip("skipped: this test does not wait for leases")
	}
	s, v := r.grant(3, "a")
	for range 4 { // for longer than a TTL
		r.Pass(ttl * 3 / 4)
		v = s.renew(v)
		s.held(v)
	}
}

func lapsed(r *rig) {
	_, v := r.grant(3, "a")
	switch {
	case r.Expire != nil:
		r.Expire(r, 3)
	case r.Pass != nil:
		r.Pass(ttl * 5 / 4)
	default:
		r.Skip("skipped: leases cannot be made to end")
	}
	s := r.open("a") // the first may have been the lease
	sv := s.find()
	if len(sv.Owned)+len(sv.Holders) > 0 || sv.Worker != -1 || sv.Last != 3 {
		r.Errorf("a survey after the lease has ended: %+v", sv)
	}
	// Who holds the grant does not know yet.
	if out := s.commit(s.renewalOf(v)); out.Done != out.Lapsed || !out.Done &&
		out.Conflict != protocol.ConflictSlot {
		safetytest.Of(r).Errorf("a renewal after the lease has ended: %+v", out)
	}
	now := s.look(3, "a")
	if now.Owned || s.Holds(now) {
		r.Errorf("a look after the lease has ended: %+v", now)
	}
	s.held(s.renew(now)) // it is put back
}

// timeout is how long a hint may take.
const timeout = 30 * time.Second

// watch begins to watch, for as long as a hint may take. Said waits for what Watch returns, and
// end ends its context.
func (s session) watch(v *protocol.View) (said func() bool, end func()) {
	ctx, cancel := context.WithTimeout(s.Context(), timeout)
	s.Cleanup(cancel)
	c := make(chan bool, 1)
	go func() { c <- s.Watch(ctx, v) }()
	return func() bool {
		s.Helper()
		select {
		case gone := <-c:
			return gone
		case <-time.After(2 * timeout):
			s.Fatal("a watch goes on, and its context has ended")
			return false
		}
	}, cancel
}

func watched(r *rig) {
	s, v := r.grant(3, "a")
	said, end := s.watch(v)
	end()
	if said() {
		r.Error("a watch was ended, and says that the lease is gone")
	}
	said, _ = s.watch(v)
	now := s.done(releaseOf(v))
	if !said() {
		r.Error("an owner mark was deleted, and a watch does not say so")
	}
	if said, _ := s.watch(now); !said() {
		r.Error("there was no owner mark to begin with, and a watch does not say so")
	}
}

func watchedRetired(r *rig) {
	s, v := r.grant(3, "a")
	said, _ := s.watch(v)
	renewed := s.renew(v)
	r.retire(3)
	if !said() {
		r.Error("a worker ID was retired, and a watch does not say so")
	}
	if said, _ := s.watch(renewed); !said() {
		r.Error("a worker ID was retired before, and a watch does not say so")
	}
}

func watchedFree(r *rig) {
	s, v := r.grant(3, "a")
	share := coord.Range{First: 3, Count: 1}
	w, ok := r.open("b").Session.(protocol.FreeWatcher)
	if !ok {
		return // the back end does not report it
	}
	said := make(chan bool, 1)
	ctx, cancel := context.WithTimeout(s.Context(), timeout)
	s.Cleanup(cancel)
	go func() { said <- w.WatchFree(ctx, share) }()
	if w.WatchFree(ctx, coord.Range{First: 3, Count: 2}); ctx.Err() != nil {
		r.Error("a worker ID is free, and a watch does not report it")
	}
	s.done(releaseOf(s.renew(v)))
	if !<-said {
		r.Error("a worker ID was released, and a watch does not report it")
	}
}

func over(r *rig) {
	s, v := r.grant(3, "a")
	if err := s.Over(); err != nil {
		r.Errorf("a session has ended that is in use: %v", err)
	}
	s.End()
	s.End()
	if s.Over() == nil {
		r.Error("a session was ended, and is not over")
	}
	// Somebody may use the grant, so the lease is not ended with the session. Where the
	// session is the lease, it may be.
	next := r.open("a")
	now := next.look(3, "a")
	if now.Slot.Record != v.Slot.Record {
		safetytest.Of(r).Errorf("a session was ended, and the slot is %+v; it was %+v", now.Slot.Record,
			v.Slot.Record)
	}
	next.held(next.renew(now))
}
