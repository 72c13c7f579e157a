package protocol_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestFloorSeenBetweenLosses: a process has noticed a loss, and cannot deal with it yet. What it
// sees of the floor meanwhile is not forgotten if that is lost too.
func TestFloorSeenBetweenLosses(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		p, st := tap(t, server, nil)
		g := mustAcquire(t, p, wants("p"))
		restore := server.Snapshot()
		g = mustRenew(t, p, g, 1000)
		restore()
		st.tap = failing("commit")
		if _, err := p.Renew(t.Context(), g, g.NotAfter+1); !errors.Is(err, errNoAnswer) {
			t.Fatalf("Renew: %v", err)
		}
		if _, err := process(t, server).Quarantine(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		want := server.Meta().Base
		if _, err := p.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		restore()
		st.tap = nil
		notices(t, p, g)
		if got := server.Meta(); got.Base < want || got.Floor < want || got.Loss.Nonce == "" {
			safetytest.Of(t).Errorf("an operator has raised the floor to %d, and after the loss of that "+
				"it is %+v", want, got)
		}
	})
}

// TestSeenWhileTheFloorIsRaised: a process raises the floor after a loss, and a request of
// that takes its time. Meanwhile the same process sees a window that ends above, and that is
// lost too: what is stored is again what it was when the request was made.
func TestSeenWhileTheFloorIsRaised(t *testing.T) {
	for how, lose := range losses {
		runInOurTime(t, how, func(t *testing.T) {
			server := memstore.NewServer("a")
			p, st := tap(t, server, nil)
			g := mustAcquire(t, p, within("p", coord.Range{Count: 1}))
			restore := server.Snapshot()
			g = mustRenew(t, p, g, 1000)
			time.Sleep(10 * time.Second)
			restore()
			var lost coord.Grant
			st.tap = func(call string, answered bool) error {
				if call != "survey" || answered || lost.Token != "" {
					return nil
				}
				time.Sleep(3 * time.Minute)
				lost = mustAcquire(t, process(t, server), within("x", coord.Range{First: 1, Count: 1}))
				_, err := p.Inspect(t.Context())
				lose(server, restore)
				return err
			}
			for range 4 {
				notices(t, p, g)
			}
			if got := server.Meta(); lost.Token == "" || got.Floor < lost.NotAfter {
				safetytest.Of(t).Errorf("%v was lost, and the namespace is %+v", lost, got)
			}
		})
	}
}

// TestNoticedInTheMiddle: another call of a process notices a loss while the answer to a call is
// under way. What that was granted, or extended, is not used.
func TestNoticedInTheMiddle(t *testing.T) {
	renew := func(t *testing.T, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error) {
		return c.Renew(t.Context(), g, g.NotAfter+1)
	}
	for name, tt := range map[string]struct {
		answer string // that is under way
		call   func(t *testing.T, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error)
	}{
		"Acquire": {"commit", func(t *testing.T, c *protocol.Coordinator, _ coord.Grant) (coord.Grant,
			error,
		) {
			return c.Acquire(t.Context(), wants("new"))
		}},
		"Acquire again": {"look", func(t *testing.T, c *protocol.Coordinator, _ coord.Grant) (coord.Grant,
			error,
		) {
			return c.Acquire(t.Context(), wants("p"))
		}},
		"Renew":                         {"commit", renew},
		"Renew, and the answer is lost": {"look", renew},
		"Release": {"", func(t *testing.T, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error) {
			return coord.Grant{NotBefore: math.MaxInt64}, c.Release(t.Context(), g, g.NotBefore)
		}},
	} {
		runInOurTime(t, name, func(t *testing.T) {
			server := memstore.NewServer("a")
			c, st := tap(t, server, nil)
			g := mustAcquire(t, c, wants("p"))
			restore := server.Snapshot()
			for _, token := range []string{"x", "y", "z"} {
				mustAcquire(t, process(t, server), wants(token))
			}
			if _, err := c.Inspect(t.Context()); err != nil { // it sees a number that is lost
				t.Fatal(err)
			}
			if tt.answer == "" {
				restore()
			}
			st.tap = func(call string, answered bool) error {
				switch {
				case name == "Renew, and the answer is lost" && call == "commit" && answered:
					return errNoAnswer
				case call != tt.answer || !answered:
					return nil
				}
				st.tap = nil
				restore()
				_, err := c.Inspect(t.Context())
				return err
			}
			h, err := tt.call(t, c, g)
			if floor := server.Meta().Floor; floor == 0 || err == nil && h.NotBefore < floor ||
				err != nil && !errors.Is(err, coord.ErrQuarantined) {
				safetytest.Unless(t, err).Errorf("%v, %v; the floor is %d", h, err, floor)
			}
		})
	}
}
