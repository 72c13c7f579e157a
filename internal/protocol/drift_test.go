package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestLostRaces: whoever finds that others were faster waits before the next attempt, for
// a random time, whatever the call. When its time is over it says so.
func TestLostRaces(t *testing.T) {
	const most = 200
	for name, call := range map[string]func(ctx context.Context, c *protocol.Coordinator,
		g coord.Grant) error{
		"Acquire": func(ctx context.Context, c *protocol.Coordinator, _ coord.Grant) error {
			_, err := c.Acquire(ctx, wants("another"))
			return err
		},
		"Renew": func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) error {
			_, err := c.Renew(ctx, g, g.NotAfter+1)
			return err
		},
		"Release": func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) error {
			return c.Release(ctx, g, g.NotBefore)
		},
		"Quarantine": func(ctx context.Context, c *protocol.Coordinator, _ coord.Grant) error {
			_, err := c.Quarantine(ctx, time.Time{})
			return err
		},
	} {
		// race returns how long a call took that ended by itself or with its time, and how many
		// races it has lost.
		race := func(limit time.Duration, seed uint64) (took time.Duration, lost int, err error) {
			synctest.Test(t, func(t *testing.T) {
				c, st := tap(t, memstore.NewServer("a"), nil, func(s *protocol.Settings) {
					s.Random = rand.New(rand.NewPCG(seed, 0)).Int64N
				})
				req := wants("token")
				g := mustAcquire(t, c, req)
				st.refuse = func(protocol.Change) protocol.Outcome {
					if lost++; lost > most {
						t.Fatal("races are lost without end")
					}
					return protocol.Outcome{Position: protocol.Position{Lineage: "a"}}
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				began := time.Now()
				err = call(ctx, c, g)
				took = time.Since(began)
			})
			return took, lost, err
		}
		took, lost, err := race(time.Millisecond, 1)
		if !errors.Is(err, context.DeadlineExceeded) || took > time.Millisecond || lost == 0 || lost > 5 {
			t.Errorf("%s, with a millisecond: it took %v and lost %d races, %v", name, took, lost, err)
		}
		times := map[string]bool{}
		for seed := range uint64(5) {
			took, lost, err = race(10*time.Second, seed)
			if lost < 5 || took < 10*time.Millisecond {
				t.Errorf("%s: it lost %d races within %v, %v", name, lost, took, err)
			}
			times[fmt.Sprint(took, lost)] = true
		}
		if len(times) == 1 {
			t.Errorf("%s: all who have lost a race try again at the same time: %v", name, times)
		}
	}
}

// TestForgottenFloor: a floor that the back end has forgotten holds on, if the one who
// notices has seen it, even if others have raised the floor since that is stored.
func TestForgottenFloor(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c := process(t, server)
		mustAcquire(t, c, wants("token"))
		restore := server.Snapshot()
		floor, err := process(t, server).Quarantine(t.Context(), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		for range 30 { // c sees the floor, and a number that the others do not reach
			mustAcquire(t, c, wants("token"))
		}
		restore()
		other := process(t, server)
		for i := range 5 {
			if _, err := other.Quarantine(t.Context(),
				time.Now().Add(time.Duration(i+3)*time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		h := mustAcquire(t, c, wants("after the loss"))
		if want := space.Scale.Tick(floor.UnixMicro()); h.NotBefore < want || server.Meta().Floor < want {
			safetytest.Of(t).Errorf("the floor was %d before the loss and is %d; granted was %v", want,
				server.Meta().Floor, h)
		}
	})
}

// TestReplayBelowTheFloor: a token is not granted again what the floor has overtaken since.
func TestReplayBelowTheFloor(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		c := process(t, memstore.NewServer("a"))
		g := mustAcquire(t, c, wants("token"))
		floor, err := c.Quarantine(t.Context(), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		h := mustAcquire(t, c, wants("token"))
		if want := space.Scale.Tick(floor.UnixMicro()); h.NotBefore < want ||
			h.Generation == g.Generation && h.WorkerID == g.WorkerID {
			safetytest.Of(t).Errorf("%v was granted, the floor was raised to %d, and then it was %v", g,
				want, h)
		}
	})
}

// TestClockSetWhileAcquiring: a clock is set right while an acquisition is under way. That
// makes no window right that was asked for with the wrong clock.
func TestClockSetWhileAcquiring(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		inOurTime(t, func(t *testing.T) {
			server, own := memstore.NewServer("a"), &shifted{by: wrong}
			server.Clock = (&shifted{}).UnixMicro
			c, st := tap(t, server, own)
			st.tap = func(call string, answered bool) error {
				if call == "survey" && answered {
					own.by = 0
				}
				return nil
			}
			req := wants("token")
			req.Now, req.Until = req.Now+wrong.Milliseconds(), req.Until+wrong.Milliseconds()
			if g, err := c.Acquire(t.Context(), req); !errors.Is(err, coord.ErrClockSkew) || own.by != 0 {
				safetytest.Unless(t, err).Errorf("Acquire with a clock that was wrong by %v: %v, %v; want %v",
					wrong, g, err, coord.ErrClockSkew)
			}
			mustAcquire(t, c, wants("token"))
		})
	}
}
