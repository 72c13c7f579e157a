package protocol_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestForgets: in a back end that may lose all that it has, a namespace that is made begins
// with the floor of a loss, until it is declared new by who may.
func TestForgets(t *testing.T) {
	forgets := func(s *protocol.Settings) { s.Forgets = true }
	limit := int64((2*time.Minute + time.Second).Milliseconds())
	for name, tt := range map[string]struct {
		// and then it is declared new
		before func(t *testing.T, server *memstore.Server, c *protocol.Coordinator, st *tapped)
		init   bool
		floor  bool
	}{
		"declared first": {
			func(*testing.T, *memstore.Server, *protocol.Coordinator, *tapped) {}, true,
			false,
		},
		"made, and nothing was granted": {func(t *testing.T, _ *memstore.Server, c *protocol.Coordinator, st *tapped) {
			st.tap = failing("commit")
			if g, err := c.Acquire(t.Context(), wants("t")); !errors.Is(err, errNoAnswer) {
				t.Fatal(g, err)
			}
			st.tap = nil
		}, true, false},
		"made and granted": {func(t *testing.T, _ *memstore.Server, c *protocol.Coordinator, _ *tapped) {
			if g := mustAcquire(t, c, wants("t")); g.NotBefore < wants("").Now+limit-1 {
				t.Fatal(g)
			}
		}, false, true},
		"a holder has shown what was forgotten": {func(t *testing.T, server *memstore.Server, c *protocol.Coordinator, st *tapped) {
			holder, _ := tap(t, server, nil, forgets)
			if err := holder.Init(t.Context(), space); err != nil {
				t.Fatal(err)
			}
			g := mustAcquire(t, holder, wants("h"))
			server.Delete()
			st.tap = failing("commit")
			if g, err := c.Acquire(t.Context(), wants("t")); !errors.Is(err, errNoAnswer) {
				t.Fatal(g, err)
			}
			st.tap = nil
			floor := server.Meta().Floor
			time.Sleep(time.Second)
			if _, err := holder.Renew(t.Context(), g, g.NotAfter+1); err == nil {
				t.Fatal("a holder does not notice that its grant was forgotten")
			}
			if m := server.Meta(); m.Born() || m.Floor < floor || m.Floor > floor+1000 {
				t.Errorf("what a holder has shown is on record as %+v; the floor was %d", m, floor)
			}
		}, true, true},
	} {
		for _, clock := range []bool{false, true} {
			runInOurTime(t, name, func(t *testing.T) {
				server := memstore.NewServer("a")
				if clock {
					server.Clock = (&shifted{}).UnixMicro
				}
				c, st := tap(t, server, nil, forgets)
				tt.before(t, server, c, st)
				if err := c.Init(t.Context(), space); (err == nil) != tt.init {
					t.Errorf("Init: %v", err)
				}
				if got := server.Meta(); (got.Floor > 0) != tt.floor || got.Floor == 0 &&
					got.Loss != (protocol.Loss{}) {
					t.Errorf("the namespace is %+v", got)
				}
			})
		}
	}
}

// TestForgetsByWhoseClock: where a back end that forgets has a clock, who differs from it makes
// no namespace, and no window ends more than MaxHorizon ahead of it.
func TestForgetsByWhoseClock(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		own, server := &shifted{}, memstore.NewServer("a")
		server.Clock = (&shifted{}).UnixMicro
		c, _ := tap(t, server, own, func(s *protocol.Settings) { s.Forgets = true })
		own.by = 2 * time.Second
		if g, err := c.Acquire(t.Context(), wants("t")); !errors.Is(err, coord.ErrClockSkew) ||
			server.Meta().Nonce != "" {
			t.Errorf("with a clock that is ahead: %v, %v, %+v", g, err, server.Meta())
		}
		own.by = time.Second
		if err := c.Init(t.Context(), space); err != nil {
			t.Fatal(err)
		}
		req := wants("t")
		req.Now, req.Until = req.Now+1000, req.Now+1000+(2*time.Minute).Milliseconds()
		g, err := c.Acquire(t.Context(), req)
		if want := req.Until - 1000; err != nil || g.NotAfter != want {
			t.Errorf("Acquire: %v, %v; want it until %d", g, err, want)
		}
		if g, err = c.Renew(t.Context(), g, req.Until+5000); err != nil || g.NotAfter > req.Until {
			t.Errorf("Renew: %v, %v; want it until %d", g, err, req.Until)
		}
	})
}
