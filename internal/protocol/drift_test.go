package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// racing is a store where others are always faster, from the time when it is told so.
type racing struct {
	memstore.Store
	lost *int // how many races were lost; nil: there are none
}

func (r *racing) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s, err := r.Store.Open(token, ttl, workers)
	return &loser{s, r}, err
}

// mostRaces is how many races are lost at the most.
const mostRaces = 200

type loser struct {
	protocol.Session
	r *racing
}

func (l *loser) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	if l.r.lost == nil {
		return l.Session.Commit(ctx, c)
	}
	if *l.r.lost++; *l.r.lost > mostRaces {
		return protocol.Outcome{}, fmt.Errorf("%w: races are lost without end", coord.ErrInvalid)
	}
	v, err := l.Look(ctx, max(c.Worker(), 0), "")
	if err != nil {
		return protocol.Outcome{}, err
	}
	return protocol.Outcome{Position: v.Position, Now: v}, nil
}

// over returns a coordinator over a store of a server that has no clock.
func over(tb testing.TB, store protocol.Store, c clock.Clock, random func(int64) int64) *protocol.Coordinator {
	tb.Helper()
	p, err := protocol.New(store, protocol.Settings{
		Driver: "memory", Title: "the memory", Namespace: "orders", MinTTL: time.Second, MaxHorizon: 2 * time.Minute,
		SkewBound: time.Second, Clock: c, Logger: slog.New(slog.DiscardHandler), Random: random,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

// request is an acquisition, by a clock.
func request(c clock.Clock, token string) coord.Request { return requestIn(space, c, token) }

func requestIn(space coord.Space, c clock.Clock, token string) coord.Request {
	now := space.Scale.Tick(c.UnixMicro())
	return coord.Request{
		Token: token, Holder: "test", Fingerprint: space.Fingerprint, Scale: space.Scale, LastTick: space.LastTick,
		Workers: coord.Range{Count: 4}, Capacity: space.Capacity, TTL: 10 * time.Second,
		Now: now, Until: now + 20_000, OpenBy: now,
	}
}

func mustAcquire(tb testing.TB, c *protocol.Coordinator, req coord.Request) coord.Grant {
	tb.Helper()
	g, err := c.Acquire(tb.Context(), req)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// TestLostRaces: whoever finds that others were faster waits before the next attempt, for
// a random time, whatever the call. When its time is over it says so.
func TestLostRaces(t *testing.T) {
	calls := map[string]func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) error{
		"Acquire": func(ctx context.Context, c *protocol.Coordinator, _ coord.Grant) error {
			_, err := c.Acquire(ctx, request(rightClock{}, "another"))
			return err
		},
		"Renew": func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) error {
			_, err := c.Renew(ctx, g, g.NotAfter+1)
			return err
		},
		"Release": func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) error {
			return c.Release(ctx, g, g.NotBefore)
		},
		"Retire": func(ctx context.Context, c *protocol.Coordinator, _ coord.Grant) error { return c.Retire(ctx, 3) },
		"Quarantine": func(ctx context.Context, c *protocol.Coordinator, _ coord.Grant) error {
			_, err := c.Quarantine(ctx, time.Time{})
			return err
		},
	}
	for name, call := range calls {
		// race returns how long a call took that ended by itself or with its time, and how many
		// races it has lost.
		race := func(limit time.Duration, seed uint64) (took time.Duration, lost int, err error) {
			synctest.Test(t, func(t *testing.T) {
				store := &racing{Store: memstore.Store{Server: memstore.NewServer("a")}}
				c := over(t, store, rightClock{}, rand.New(rand.NewPCG(seed, 0)).Int64N)
				g := mustAcquire(t, c, request(rightClock{}, "token"))
				store.lost = &lost
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				began := time.Now()
				err = call(ctx, c, g)
				took = time.Since(began)
			})
			return took, lost, err
		}
		took, lost, err := race(time.Millisecond, 1)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s, with a millisecond: %v; want %v", name, err, context.DeadlineExceeded)
		}
		if took > time.Millisecond || lost == 0 || lost > 5 {
			t.Errorf("%s, with a millisecond: it took %v and lost %d races", name, took, lost)
		}
		times := map[string]bool{}
		for seed := range uint64(5) {
			took, lost, err = race(10*time.Second, seed)
			if lost < 5 || lost > mostRaces || took < 10*time.Millisecond {
				t.Errorf("%s: it lost %d races within %v, %v", name, lost, took, err)
			}
			times[fmt.Sprint(took, lost)] = true
		}
		if len(times) == 1 {
			t.Errorf("%s: all who have lost a race try again at the same time: %v", name, times)
		}
	}
}

// rightClock is the time of the machine, or of a synctest bubble.
type rightClock struct{}

func (rightClock) UnixMicro() int64 { return time.Now().UnixMicro() }

// TestForgottenFloor: a floor that the back end has forgotten holds on, if the one who
// notices has seen it, even if others have raised the floor since that is stored.
func TestForgottenFloor(t *testing.T) {
	server := memstore.NewServer("a")
	c, operator := over(t, memstore.Store{Server: server}, rightClock{}, nil), over(t, memstore.Store{Server: server}, rightClock{}, nil)
	mustAcquire(t, c, request(rightClock{}, "token"))
	restore := server.Snapshot()
	floor, err := operator.Quarantine(t.Context(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for range 30 { // c sees the floor, and a number that the others do not reach
		mustAcquire(t, c, request(rightClock{}, "token"))
	}
	restore()
	other := over(t, memstore.Store{Server: server}, rightClock{}, nil)
	for i := range 5 {
		if _, err := other.Quarantine(t.Context(), time.Now().Add(time.Duration(i+3)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	h := mustAcquire(t, c, request(rightClock{}, "after the loss"))
	if want := space.Scale.Tick(floor.UnixMicro()); h.NotBefore < want || server.Meta().Floor < want {
		t.Errorf("the floor was %d before the loss and is %d; granted was %v", want, server.Meta().Floor, h)
	}
}

// TestEveryLookIsRemembered: a process that has seen a namespace in any of its calls notices
// that it is another one now, although no number has fallen.
func TestEveryLookIsRemembered(t *testing.T) {
	for name, looks := range map[string]func(t *testing.T, c *protocol.Coordinator, g coord.Grant){
		"by renewing": func(t *testing.T, c *protocol.Coordinator, g coord.Grant) {
			t.Helper()
			if r, err := c.Renew(t.Context(), g, g.NotAfter+1); err != nil && !errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("Renew: %v, %v", r, err)
			}
		},
		"by acquiring": func(t *testing.T, c *protocol.Coordinator, _ coord.Grant) {
			t.Helper()
			req := request(rightClock{}, "another")
			req.Workers.Count = 1
			if g, err := c.Acquire(t.Context(), req); err == nil && g.NotBefore == 0 {
				t.Errorf("Acquire of what is held, or was lost: %v", g)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := memstore.NewServer("a")
			fresh := func() *protocol.Coordinator { return over(t, memstore.Store{Server: server}, rightClock{}, nil) }
			c, g := fresh(), mustAcquire(t, fresh(), request(rightClock{}, "token"))
			g.Handle = nil
			looks(t, c, g)
			server.Delete()
			for i := range 3 { // tickets, too, are drawn that are higher than before
				again := request(rightClock{}, fmt.Sprint("token of the new one ", i))
				again.Workers = coord.Range{First: 1 + i, Count: 1}
				mustAcquire(t, fresh(), again)
			}
			looks(t, c, g)
			if server.Meta().Floor == 0 {
				t.Error("it was not noticed")
			}
		})
	}
}

// TestReplayBelowTheFloor: a token is not granted again what the floor has overtaken since.
func TestReplayBelowTheFloor(t *testing.T) {
	server := memstore.NewServer("a")
	c := over(t, memstore.Store{Server: server}, rightClock{}, nil)
	req := request(rightClock{}, "token")
	g := mustAcquire(t, c, req)
	floor, err := c.Quarantine(t.Context(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	h := mustAcquire(t, c, req)
	if want := space.Scale.Tick(floor.UnixMicro()); h.NotBefore < want || h.Generation == g.Generation && h.WorkerID == g.WorkerID {
		t.Errorf("%v was granted, the floor was raised to %d, and then it was %v", g, want, h)
	}
}

// hooked is a store that does something after a survey was made, before that is answered.
type hooked struct {
	memstore.Store
	surveyed func()
}

func (h *hooked) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s, err := h.Store.Open(token, ttl, workers)
	return &hookedSession{s, h}, err
}

type hookedSession struct {
	protocol.Session
	h *hooked
}

func (s *hookedSession) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	sv, err := s.Session.Survey(ctx, ask)
	s.h.surveyed()
	return sv, err
}

// TestClockSetWhileAcquiring: a clock is set right while an acquisition is under way. That
// makes no window right that was asked for with the wrong clock.
func TestClockSetWhileAcquiring(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		server := memstore.NewServer("a")
		server.Clock = rightClock{}.UnixMicro
		clk := clocktest.NewShifted(time.Now().Add(wrong))
		set := false
		c := over(t, &hooked{memstore.Store{Server: server}, func() {
			if !set {
				set = true
				clk.Step(-wrong)
			}
		}}, clk, nil)
		if g, err := c.Acquire(t.Context(), request(clk, "token")); !errors.Is(err, coord.ErrClockSkew) || !set {
			t.Errorf("Acquire with a clock that was wrong by %v: %v, %v; want %v", wrong, g, err, coord.ErrClockSkew)
		}
		mustAcquire(t, c, request(clk, "token"))
	}
}
