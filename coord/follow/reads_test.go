package follow_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestReadsDoNotWrite: an end that is looked at is only read, and so is what forbids a move.
func TestReadsDoNotWrite(t *testing.T) {
	prev := existing().add(0, coord.SlotFree, 500)
	prev.floor = 700
	end, err := follow.EndOf(t.Context(), prev, followSpace())
	if err != nil || !end.Until.Equal(prev.micro(701)) || end.Closed {
		t.Errorf("EndOf: %+v, %v; want the end of the floor, tick 700", end, err)
	}
	prev.floor = prev.space.LastTick
	if end, err := follow.EndOf(t.Context(), prev, followSpace()); err != nil || !end.Until.Equal(prev.micro(501)) || !end.Closed {
		t.Errorf("EndOf of a closed namespace: %+v, %v; want the end of its window, tick 500", end, err)
	}
	next := existing()
	if _, err := follow.Namespace(t.Context(), next, prev, followSpace()); err == nil {
		t.Error("a stranger follows a closed namespace")
	}
	if prev.writes() != 0 || next.writes() != 1 { // Init
		t.Errorf("calls: %v to the old namespace, %v to the new one; want no writes, but for Init", prev.calls, next.calls)
	}
}

// TestFollowWrites: a whole move writes to the old namespace once, to close it.
func TestFollowWrites(t *testing.T) {
	prev, next := existing().add(0, coord.SlotFree, 500).add(3, coord.SlotRetired, 600), &ledger{}
	if _, err := follow.Namespace(t.Context(), next, prev, followSpace()); err != nil {
		t.Fatal(err)
	}
	if prev.writes() != 1 {
		t.Errorf("calls to the old namespace: %v; want one write", prev.calls)
	}
	if next.writes() != 5 { // Init, and twice the floor and the retired worker ID
		t.Errorf("calls to the new namespace: %v; want 5 writes", next.calls)
	}
}

// TestReadsOfCoordinator: the same with the protocol that the drivers share. Its back end
// numbers every write.
func TestReadsOfCoordinator(t *testing.T) {
	server := memstore.NewServer("one")
	c, err := protocol.New(memstore.Store{Server: server}, protocol.Settings{
		Driver: "mem", Title: "the server", Namespace: "orders", Clock: clock.System(), Logger: slog.New(slog.DiscardHandler),
		MinTTL: time.Second, MaxHorizon: time.Minute, SkewBound: time.Second, OneMachine: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := followSpace()
	s.Scale.Epoch = time.Now().Add(-time.Hour).UnixMicro()
	now := s.Scale.Tick(time.Now().UnixMicro())
	g, err := c.Acquire(t.Context(), coord.Request{
		Token: "token", Holder: "test", Fingerprint: s.Fingerprint, Scale: s.Scale, LastTick: s.LastTick, Capacity: s.Capacity,
		Workers: coord.Range{Count: 1}, TTL: 10 * time.Second, Now: now, Until: now + 1000, OpenBy: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Release(t.Context(), g, g.NotAfter); err != nil {
		t.Fatal(err)
	}
	before, meta := server.Number(), server.Meta()
	end, err := follow.EndOf(t.Context(), c, s)
	if want := s.Scale.Micro(g.NotAfter + 1); err != nil || end.Until.UnixMicro() != want {
		t.Errorf("EndOf: %+v, %v; want the end of tick %d", end, err, g.NotAfter)
	}
	if server.Number() != before || server.Meta() != meta {
		t.Errorf("EndOf has written: the last write was number %d and is %d; the record was %+v and is %+v", before, server.Number(), meta, server.Meta())
	}
}
