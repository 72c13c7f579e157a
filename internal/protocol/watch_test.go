package protocol

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// watchingSession is a session of a slot that can be renewed, and watched.
type watchingSession struct {
	Session
	v View
}

func (s *watchingSession) Look(context.Context, int, string) (*View, error) {
	v := s.v
	return &v, nil
}

func (s *watchingSession) Commit(_ context.Context, change Change) (Outcome, error) {
	s.v.Slot.Record = *change.Slot
	s.v.Slot.Version++
	v := s.v
	return Outcome{Done: true, Now: &v}, nil
}

func (*watchingSession) Watch(ctx context.Context, _ *View) bool {
	<-ctx.Done()
	return false
}

func (*watchingSession) Holds(*View) bool                                   { return true }
func (*watchingSession) Time() int64                                        { return 0 }
func (*watchingSession) Over() error                                        { return nil }
func (*watchingSession) End()                                               {}
func (s *watchingSession) Open(string, time.Duration, int) (Session, error) { return s, nil }

// TestResumeEndsTheWatch: nobody waits for a hint about a grant that another one has taken
// the place of.
func TestResumeEndsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slot := Slot{Version: Version, Worker: 1, Token: "old", Generation: 1, NotAfter: 10, LastTick: 1000, TTL: 15_000}
		meta := Meta{Nonce: "a", Unit: 1000, LastTick: 1000}
		s := &watchingSession{v: View{Meta: Entry[Meta]{Record: meta, Made: 1, Version: 1}, Slot: Entry[Slot]{Record: slot, Made: 1, Version: 1}, Owned: true}}
		c, err := New(s, Settings{Driver: "test", Namespace: "orders", MaxHorizon: time.Minute, SkewBound: testBound, Clock: clock.System(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		watched := func() int {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.watches)
		}
		g, err := c.Renew(t.Context(), slot.Grant(nil), 20)
		if err != nil {
			t.Fatal(err)
		}
		c.Lost(g)
		if n := watched(); n != 1 {
			t.Fatalf("%d watches; want 1", n)
		}
		if _, err := c.Resume(t.Context(), g, "new", 30); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := watched(); n != 0 {
			t.Errorf("%d watches are left", n)
		}
	})
}
