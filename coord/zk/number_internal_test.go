package zk

import (
	"context"
	"log/slog"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestGrantHasANumber: the answer to every change tells the number of its transaction, that
// to the first grant of a worker ID too, which makes nodes and changes none.
func TestGrantHasANumber(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	c, err := New([]string{server.Addr}, "orders", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	st := &store{servers: []string{server.Addr}, nodes: newFolder("", "orders"), log: slog.New(slog.DiscardHandler), acl: client.WorldACL(client.PermAll), life: c.Life()}
	s, err := st.Open("token", 15*time.Second, 1024)
	if err != nil {
		t.Fatal(err)
	}
	space := coord.Space{Fingerprint: "test", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 41, Capacity: 1024}
	sv, err := s.Survey(ctx, protocol.Ask{Token: "token", Share: coord.Range{Count: 1024}, New: func(int64) protocol.Meta { return protocol.NewMeta(space) }})
	if err != nil {
		t.Fatal(err)
	}
	slot := protocol.Slot{Version: protocol.Version, Worker: 3, Token: "token", Generation: 1, NotAfter: 10, LastTick: 1 << 41, TTL: 15_000}
	grant := protocol.Change{Before: &protocol.View{Meta: sv.Meta}, Slot: &slot, Owner: protocol.OwnerTaken, Token: "token"}
	out, err := s.Commit(ctx, grant)
	if err != nil || !out.Done || out.Number <= sv.Number {
		t.Errorf("the number of the grant is %#x, %v; that of the survey was %#x", out.Number, err, sv.Number)
	}
}
