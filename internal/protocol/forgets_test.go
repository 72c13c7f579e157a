package protocol_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// forgetting is a process of a back end that may lose all that it has.
type forgetting struct {
	*testing.T
	server *memstore.Server
	*protocol.Coordinator
	st *tapped
}

// forgets is the setting of such a back end.
func forgets(s *protocol.Settings) { s.Forgets = true }

// makes makes the namespace, and fails before anything is granted.
func (f *forgetting) makes() {
	f.st.tap = failing("commit")
	if g, err := f.Acquire(f.Context(), wants("t")); !errors.Is(err, errNoAnswer) {
		f.Fatal(g, err)
	}
	f.st.tap = nil
}

// TestForgets: in a back end that may lose all that it has, a namespace that is made begins
// with the floor of a loss, until it is declared new by who may.
func TestForgets(t *testing.T) {
	limit := int64((2*time.Minute + time.Second).Milliseconds())
	for name, tt := range map[string]struct {
		before      func(f *forgetting) // and then it is declared new
		init, floor bool
	}{
		"declared first":                {func(*forgetting) {}, true, false},
		"made, and nothing was granted": {(*forgetting).makes, true, false},
		"made and granted": {func(f *forgetting) {
			if g := mustAcquire(f, f.Coordinator, wants("t")); g.NotBefore < wants("").Now+limit-1 {
				safetytest.Of(f).Fatal(g)
			}
		}, false, true},
		"a holder has shown what was forgotten": {func(f *forgetting) {
			holder, _ := tap(f, f.server, nil, forgets)
			if err := holder.Init(f.Context(), space); err != nil {
				f.Fatal(err)
			}
			g := mustAcquire(f, holder, wants("h"))
			f.server.Delete()
			f.makes()
			floor := f.server.Meta().Floor
			time.Sleep(time.Second)
			if _, err := holder.Renew(f.Context(), g, g.NotAfter+1); err == nil {
				safetytest.Of(f).Fatal("a holder does not notice that its grant was forgotten")
			}
			highest := floor + (time.Second + protocol.Allowance(0, 0)).Milliseconds()
			if m := f.server.Meta(); m.Born() || m.Floor < floor || m.Floor > highest {
				safetytest.Of(f).Errorf("what a holder has shown is on record as %+v; the floor was %d", m,
					floor)
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
				tt.before(&forgetting{t, server, c, st})
				if err := c.Init(t.Context(), space); (err == nil) != tt.init {
					t.Errorf("Init: %v", err)
				}
				if got := server.Meta(); (got.Floor > 0) != tt.floor || got.Floor == 0 &&
					got.Loss != (protocol.Loss{}) {
					safetytest.Of(t).Errorf("the namespace is %+v", got)
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
		c, _ := tap(t, server, own, forgets)
		own.by = 2 * time.Second
		if g, err := c.Acquire(t.Context(), wants("t")); !errors.Is(err, coord.ErrClockSkew) ||
			server.Meta().Nonce != "" {
			safetytest.Unless(t, err).Errorf("with a clock that is ahead: %v, %v, %+v", g, err,
				server.Meta())
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
