package protocol_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// outlives is the setting of a back end whose leases outlive it.
func outlives(s *protocol.Settings) { s.Outlives = true }

// TestNewcomersWait: an old copy of the data comes back, and with it leases that were not renewed
// for long. A newcomer is granted nothing before their holders have renewed, which notice, or the
// leases have ended.
func TestNewcomersWait(t *testing.T) {
	for name, clock := range map[string]func() int64{
		"no clock": nil,
		"a clock":  (&shifted{}).UnixMicro,
	} {
		for _, lives := range []bool{true, false} {
			runInOurTime(t, name, func(t *testing.T) {
				server := memstore.NewServer("a")
				server.Clock = clock
				holder, _ := tap(t, server, nil, outlives)
				g := mustAcquire(t, holder, wants("holder"))
				restore := server.Snapshot()
				for range 4 {
					time.Sleep(20 * time.Second)
					g = mustRenew(t, holder, g, 20_000)
				}
				restore()
				newcomer, _ := tap(t, server, nil, outlives)
				asked := time.Now()
				for range 2 {
					_, err := newcomer.Acquire(t.Context(), wants("newcomer"))
					q, ok := errors.AsType[*coord.QuarantinedError](err)
					if !ok || !strings.Contains(q.Reason, "old copy") ||
						q.Until.Sub(asked).Round(time.Second) != time.Minute {
						safetytest.Unless(t, err).Fatalf("a newcomer beside a lease that is old: %v", err)
					}
				}
				if lives {
					if _, err := holder.Renew(t.Context(), g, wants("").Until); !errors.Is(err,
						coord.ErrQuarantined) {
						safetytest.Unless(t, err).Fatalf("the holder does not notice: %v", err)
					}
				} else {
					time.Sleep(61 * time.Second)
				}
				h, err := newcomer.Acquire(t.Context(), wants("newcomer"))
				if err != nil || lives && h.NotBefore <= g.NotAfter {
					safetytest.Unless(t, err).Errorf("the newcomer after that: %v, %v; forgotten was %v", h, err,
						g)
				}
				time.Sleep(10 * time.Second)
				restore()
				if _, err := newcomer.Acquire(t.Context(), wants("again")); !lives &&
					!strings.Contains(fmt.Sprint(err), "old copy") {
					t.Errorf("once more, after the same copy: %v", err)
				}
			})
		}
	}
}

// TestClockThatAgreesWithNobody: where the back end has no clock, nobody leases whose clock differs
// from those of all holders, if there are several; where it has one, whose clock differs from that.
// On one machine there is no other clock.
func TestClockThatAgreesWithNobody(t *testing.T) {
	for _, tt := range []struct {
		holders                     int
		clock, outlives, oneMachine bool
		refused                     bool
	}{
		{1, false, true, false, false},
		{2, false, true, false, true},
		{2, false, true, true, false},
		{2, false, false, false, false},
		{1, true, false, false, true},
		{1, true, false, true, false},
	} {
		inOurTime(t, func(t *testing.T) {
			server := memstore.NewServer("a")
			if tt.clock {
				server.Clock = (&shifted{}).UnixMicro
			}
			for i := range tt.holders {
				mustAcquire(t, process(t, server), wants(fmt.Sprint(i)))
			}
			c, _ := tap(t, server, &shifted{by: -time.Hour}, func(s *protocol.Settings) {
				s.Outlives, s.OneMachine = tt.outlives, tt.oneMachine
			})
			req := wants("late")
			req.Now, req.Until = req.Now-time.Hour.Milliseconds(), req.Until-time.Hour.Milliseconds()
			if g, err := c.Acquire(t.Context(), req); errors.Is(err, coord.ErrClockSkew) != tt.refused ||
				(err != nil) != tt.refused {
				t.Errorf("%+v: %v, %v", tt, g, err)
			}
		})
	}
}

// TestNewcomersOfAnotherShareWait: that one generator has begun to wait says nothing of the holders
// in the share of another one.
func TestNewcomersOfAnotherShareWait(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		holder, _ := tap(t, server, nil, outlives)
		shares := []coord.Range{{First: 0, Count: 2}, {First: 10, Count: 2}}
		for i, share := range shares {
			mustAcquire(t, holder, within(string(rune('a'+i)), share))
		}
		restore := server.Snapshot()
		time.Sleep(80 * time.Second)
		restore()
		newcomer, _ := tap(t, server, nil, outlives)
		for _, share := range shares {
			if g, err := newcomer.Acquire(t.Context(), within("newcomer", share)); !errors.Is(err,
				coord.ErrQuarantined) {
				safetytest.Unless(t, err).Errorf("beside a lease of the share %v that is old: %v, %v", share, g,
					err)
			}
		}
	})
}

// TestLatestClockCounts: where the back end has no clock, the floor is raised by the latest that
// any holder has said.
func TestLatestClockCounts(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		ahead, _ := tap(t, server, &shifted{by: 20 * time.Second})
		req := within("ahead", coord.Range{First: 1, Count: 1})
		req.Now, req.Until = req.Now+20_000, req.Until+20_000
		mustAcquire(t, ahead, req)
		g, _ := lossDealtWith(t, server, process(t, server))
		if want := wants("").Now + (2*time.Minute +
			21*time.Second).Milliseconds(); server.Meta().Floor < want-1000 {
			safetytest.Of(t).Errorf("the floor after the loss of %v is %d; want about %d", g,
				server.Meta().Floor, want)
		}
	})
}

// TestCallersClockCounts: a generator may have another clock than its coordinator. If that is
// ahead, the floor is above windows by it.
func TestCallersClockCounts(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		p := process(t, server)
		if err := p.Init(t.Context(), space); err != nil {
			t.Fatal(err)
		}
		restore := server.Snapshot()
		const ahead = 20_000
		for _, token := range []string{"lost", "again"} {
			req := wants(token)
			req.Now, req.Until = req.Now+ahead, req.Until+ahead
			if _, err := p.Acquire(t.Context(), req); err != nil && !errors.Is(err, coord.ErrQuarantined) {
				t.Fatal(err)
			}
			if token == "lost" {
				restore()
			}
		}
		if want := wants("").Now + ahead +
			(2*time.Minute + time.Second).Milliseconds(); server.Meta().Floor < want {
			safetytest.Of(t).Errorf("the floor after the loss is %d; want %d", server.Meta().Floor, want)
		}
	})
}
