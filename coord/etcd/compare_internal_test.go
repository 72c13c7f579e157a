package etcd

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestCommit_NotesTheLineageItRestsOn: what is noted in the namespace is the cluster whose answer a
// change was decided by, whichever has answered since. So who comes next notices that it is another
// one.
func TestCommit_NotesTheLineageItRestsOn(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	c, err := New(server.Client(t), "orders", Options{})
	c = drivertest.Closing(t, c, err)
	ctx := drivertest.Within(t)
	if err := c.Init(ctx, space); err != nil {
		t.Fatal(err)
	}
	s, err := c.(*protocol.Coordinator).Store().Open("", 15*time.Second, 1024)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Survey(ctx, protocol.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	next := before.Meta.Record
	next.Floor = 7
	old := before.Position
	old.Lineage = "a cluster before"
	out, err := s.Commit(ctx, protocol.Change{
		Before: &protocol.View{Position: old, Meta: before.Meta}, Meta: &next, NoteLineage: true,
	})
	if err != nil || !out.Done {
		t.Fatalf("%+v, %v", out, err)
	}
	after, err := s.Survey(ctx, protocol.Ask{})
	if err != nil || after.Origin != old.Lineage || after.Lineage == after.Origin {
		safetytest.Unless(t, err).Errorf("after a change that rests on %q, %q is noted, %v", old.Lineage,
			after.Origin, err)
	}
}

// TestRevisionThatComesAgain: after a loss, the namespace's record has the revision that it
// had before it, with another value: a floor. Nothing is granted on the strength of
// what was read before.
func TestRevisionThatComesAgain(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	c, err := New(server.Client(t), "orders", Options{})
	c = drivertest.Closing(t, c, err)
	ctx := drivertest.Within(t)
	s, err := c.(*protocol.Coordinator).Store().Open("token", 15*time.Second, 1024)
	if err != nil {
		t.Fatal(err)
	}
	sv, err := s.Survey(ctx, protocol.Ask{
		Token: "token", Share: coord.Range{Count: 1024},
		New: func(protocol.Span) protocol.Meta {
			return protocol.NewMeta(space)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	meta := sv.Meta
	meta.Record.Floor = 7
	raw, err := protocol.Encode(meta.Record)
	if err != nil {
		t.Fatal(err)
	}
	meta.Raw = []byte(raw)
	slot := protocol.Slot{
		Version: protocol.Version, Worker: 3, Token: "token", Generation: 1,
		NotAfter: 10, LastTick: 1 << 41, TTL: 15_000,
	}
	grant := protocol.Change{
		Before: &protocol.View{Meta: meta}, Slot: &slot,
		Owner: protocol.OwnerTaken, Token: "token",
	}
	if out, err := s.Commit(ctx, grant); err != nil || out.Done ||
		out.Conflict != protocol.ConflictElsewhere {
		safetytest.Unless(t, err).Errorf("a grant on another record with the same revision: %+v, %v; "+
			"want it refused", out, err)
	}
	grant.Before.Meta = sv.Meta
	out, err := s.Commit(ctx, grant)
	if err != nil || !out.Done {
		t.Fatalf("a grant on what is stored: %+v, %v", out, err)
	}
	for what, change := range map[string]func(*protocol.Slot){
		"window": func(s *protocol.Slot) { s.NotAfter-- },
		"holder": func(s *protocol.Slot) { s.Token = "other" },
	} {
		before := *out.Now
		change(&before.Slot.Record)
		next := before.Slot.Record
		next.NotAfter = 20
		if out, err := s.Commit(ctx, protocol.Change{
			Before: &before, Slot: &next,
			Token: next.Token,
		}); err != nil || out.Done || out.Conflict != protocol.ConflictSlot {
			safetytest.Unless(t, err).Errorf("a renewal of another %s with the same revision: %+v, %v; "+
				"want it refused", what, out, err)
		}
	}
}
