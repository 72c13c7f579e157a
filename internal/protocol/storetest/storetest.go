// Package storetest holds a store of package protocol to what its interface says, one
// method at a time. The conformance suite of package coordtest does not replace it: the
// coordinator looks again where a store is wrong, so that much only shows under load.
package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// Harness is a store over a namespace that does not exist yet.
type Harness struct {
	Store protocol.Store
	// Pass lets time pass, for the leases of the store. Nil: a test cannot wait for that.
	Pass func(d time.Duration)
	// Expire ends the lease of whoever holds a worker ID, as a long silence would, and
	// returns when it is over; nil: Pass is used. Without both, the end of leases is skipped.
	Expire func(tb testing.TB, worker int)
	// Hide takes away by what a worker ID's slot is listed, or with -1 the namespace's record; nil:
	// there is nothing of that kind.
	Hide func(tb testing.TB, worker int)
	// Full has the back end refuse to make any more records; nil: it cannot.
	Full func(tb testing.TB)
	// Count returns how many keys, nodes, rows or objects the namespace has in the back end.
	Count func(tb testing.TB) int
	// Writes returns how often the back end was written to; nil: it does not tell.
	Writes func(tb testing.TB) int64
}

// Case is one thing that a store does.
type Case struct {
	Name string
	run  func(r *rig)
}

// Run runs the case on a harness.
func (c Case) Run(t *testing.T, h Harness) {
	c.run(&rig{TB: t, Harness: h, now: 1000})
}

// Run runs all cases, each as a sub-test with a harness of its own.
func Run(t *testing.T, newHarness func(tb testing.TB) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, newHarness(t)) })
	}
}

// Cases returns all cases, for a store that needs something around each.
func Cases() []Case {
	return []Case{
		{"nothing is there", nothing},
		{"a survey makes the namespace once", made},
		{"a survey of an acquisition", surveyed},
		{"a share", shared},
		{"a survey that writes nothing", peeked},
		{"a listing", listed},
		{"numbers grow", numbered},
		{"a clock", clocked},
		{"a change of a record that was changed", stale},
		{"a grant of a slot that was changed", staleSlot},
		{"a token has one worker ID", oneToken},
		{"a renewal", renewed},
		{"a grant is resumed", resumed},
		{"a worker ID is given back", freed},
		{"a worker ID is retired", retired},
		{"a namespace that is unused", unused},
		{"an object that the list does not show", hidden},
		{"no object can be made", full},
		{"leases", leased},
		{"a lease is kept alive", keptAlive},
		{"a lease ends", lapsed},
		{"watching", watched},
		{"watching a worker ID that is retired", watchedRetired},
		{"watching for a free worker ID", watchedFree},
		{"a session is over", over},
		{"an identity moves", moved},
		{"what is stored stays bounded", bounded},
	}
}

const (
	// ttl is that of all leases.
	ttl = 10 * time.Second
	// workers is how many worker IDs there are.
	workers = 16
)

// scale is that of the layout.
var scale = drivertest.Scale()

// rig is a store in a test.
type rig struct {
	testing.TB
	Harness
	now int64 // a tick; each record is written in another one
}

// session is one of a rig. What is done through it must succeed, if nothing else is said.
type session struct {
	*rig
	protocol.Session
	token string
}

// open returns a session that ends with the test.
func (r *rig) open(token string) session {
	r.Helper()
	s, err := r.Store.Open(token, ttl, workers)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(s.End)
	return session{r, s, token}
}

// request is that of an acquisition, by the identity that the token begins with, if one does.
func (r *rig) request(token string) coord.Request {
	r.now++
	req := drivertest.Request(workers)
	if identity, _, _ := strings.Cut(token, " "); identity != "" {
		req.Identity = "id-" + identity
	}
	req.Token, req.Capacity, req.TTL = token, workers, ttl
	req.Now, req.Until = r.now, r.now+100
	return req
}

// ask is that of an acquisition.
func (r *rig) ask(token string) protocol.Ask {
	req := r.request(token)
	meta := protocol.NewMeta(protocol.SpaceOf(req))
	return protocol.Ask{
		Token: token, Identity: req.Identity, Share: req.Workers,
		New:   func(protocol.Span) protocol.Meta { return meta },
		Again: func(protocol.Span, protocol.Meta) protocol.Meta { return meta },
	}
}

func (s session) survey(ask protocol.Ask) *protocol.Survey {
	s.Helper()
	sv, err := s.Survey(s.Context(), ask)
	if err != nil {
		s.Fatal(err)
	}
	return sv
}

// find is the survey of an acquisition.
func (s session) find() *protocol.Survey {
	s.Helper()
	return s.survey(s.ask(s.token))
}

func (s session) look(worker int, token string) *protocol.View {
	s.Helper()
	v, err := s.Look(s.Context(), worker, token)
	if err != nil {
		s.Fatal(err)
	}
	return v
}

func (s session) commit(c protocol.Change) protocol.Outcome {
	s.Helper()
	out, err := s.Commit(s.Context(), c)
	if err != nil {
		s.Fatal(err)
	}
	if out.Done && out.Now == nil {
		s.Fatal("a change was done, and Now is nil")
	}
	return out
}

// done makes a change that has to be done.
func (s session) done(c protocol.Change) *protocol.View {
	s.Helper()
	out := s.commit(c)
	if !out.Done || out.Lapsed {
		s.Fatalf("not done: %+v", out)
	}
	return out.Now
}

// anything is a conflict that more than one thing explains.
const anything protocol.Conflict = -1

// refused makes a change that has to be refused, and looks that nothing has changed.
func (s session) refused(c protocol.Change, want protocol.Conflict) {
	s.Helper()
	id := max(c.Worker(), 0)
	before := s.look(id, c.Token)
	if out := s.commit(c); out.Done || want != anything && out.Conflict != want {
		safetytest.Of(s).Errorf("Done %t, Conflict %d, want a refusal with %d", out.Done, out.Conflict,
			want)
	}
	after := s.look(id, c.Token)
	if after.Slot.Record != before.Slot.Record || after.Meta.Record != before.Meta.Record ||
		after.Owned != before.Owned {
		safetytest.Of(s).Errorf("a change that was refused has changed %+v to %+v", before, after)
	}
}

// grantOf is the change that grants a worker ID which nobody ever had.
func (r *rig) grantOf(meta protocol.Entry[protocol.Meta], worker int,
	token string,
) protocol.Change {
	return r.grantTo(r.request(token), meta, protocol.Entry[protocol.Slot]{}, worker)
}

// grantTo is the change that grants a request a worker ID, of which this slot is stored.
func (r *rig) grantTo(req coord.Request, meta protocol.Entry[protocol.Meta],
	before protocol.Entry[protocol.Slot], worker int,
) protocol.Change {
	slot := protocol.Candidate{ID: worker, Slot: before.Record}.Granted(meta.Record, req,
		scale.Micro(r.now))
	return protocol.Change{
		Before: &protocol.View{Meta: meta, Slot: before}, Slot: &slot, Owner: protocol.OwnerTaken,
		Token: req.Token, NoteLineage: true,
	}
}

// grant grants a worker ID which nobody ever had, in a session of its own.
func (r *rig) grant(worker int, token string) (session, *protocol.View) {
	r.Helper()
	s := r.open(token)
	return s, s.done(r.grantOf(s.find().Meta, worker, token))
}

// renewalOf is the change of a renewal.
func (s session) renewalOf(v *protocol.View) protocol.Change {
	s.now++
	slot := v.Slot.Record
	slot.NotAfter, slot.Renewed = slot.NotAfter+10, scale.Micro(s.now)
	c := protocol.Change{Before: v, Slot: &slot, Token: slot.Token}
	if !s.Holds(v) {
		c.Owner, c.Replaced = protocol.OwnerTaken, slot.Token
	}
	return c
}

func (s session) renew(v *protocol.View) *protocol.View {
	s.Helper()
	return s.done(s.renewalOf(v))
}

// releaseOf is the change of a release that gives back the whole window.
func releaseOf(v *protocol.View) protocol.Change {
	slot := v.Slot.Record.Trimmed(coord.Grant{}, v.Slot.Record.NotBefore)
	return protocol.Change{
		Before: v, Slot: &slot, Owner: protocol.OwnerFreed, Token: v.Slot.Record.Token,
	}
}

// held checks that a view is of a worker ID which the session's token holds, and that a survey of
// that token finds it.
func (s session) held(v *protocol.View) {
	s.Helper()
	id := v.Slot.Record.Worker
	if now := s.look(id, s.token); !v.Owned || !now.Owned || now.Slot.Record != v.Slot.Record ||
		v.Slot.Record.Token != s.token {
		s.Errorf("the outcome shows %+v, and a look %+v", v, now)
	}
	if sv := s.survey(protocol.Ask{Token: s.token}); sv.Worker != id {
		s.Errorf("the token leads to %d, want %d", sv.Worker, id)
	}
}
