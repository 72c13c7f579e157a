package protocol_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

const sixHours = 6 * time.Hour

// declared is a namespace with windows of up to 6 h, in the fake time of a bubble.
type declared struct {
	*testing.T
	server *memstore.Server
	space  coord.Space
}

// declare runs f with one.
func declare(t *testing.T, f func(t *testing.T, d *declared)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &declared{T: t, server: memstore.NewServer("a"), space: space}
		d.space.Scale.Epoch = 0 // fake time begins before that of the layout
		d.space.MaxHorizon = sixHours
		if err := d.process().Init(t.Context(), d.space); err != nil {
			t.Fatal(err)
		}
		f(t, d)
	})
}

// process is one that knows nothing yet.
func (d *declared) process() *protocol.Coordinator {
	return process(d.T, d.server)
}

// request asks for one of n worker IDs for as long as windows may be.
func (d *declared) request(token string, n int) coord.Request {
	req := wantsIn(d.space, token)
	req.Workers.Count, req.Surviving, req.Until = n, true, req.Now+sixHours.Milliseconds()
	return req
}

// end is the tick at which a window of now ends at the latest, by any right clock.
func (d *declared) end() int64 {
	return d.space.Scale.Tick(time.Now().Add(sixHours + time.Second).UnixMicro())
}

// wantFloor checks the floor that is stored.
func (d *declared) wantFloor(what string, least int64) {
	d.Helper()
	if m := d.server.Meta(); m.Floor < least || m.Loss.Floor < least ||
		m.MaxHorizon != sixHours.Milliseconds() {
		safetytest.Of(d).Errorf("%s: floor %d, of the loss %d, and windows of up to %d ms; want at "+
			"least %d", what, m.Floor, m.Loss.Floor, m.MaxHorizon, least)
	}
}

// TestNamespaceLostThatWasDeclared: the namespace is gone. Who remembers it makes it again as
// it was declared; where somebody else has made it, who does not, that is as long in force,
// also for those who lower the floor.
func TestNamespaceLostThatWasDeclared(t *testing.T) {
	for name, others := range map[string]func(d *declared){
		"nobody else comes": func(*declared) {},
		"a newcomer has made it": func(d *declared) {
			d.space.MaxHorizon = 0
			mustAcquire(d.T, d.process(), wantsIn(d.space, "newcomer"))
		},
		"an operator has made it, and said that there was a loss": func(d *declared) {
			d.space.MaxHorizon = 0
			operator := d.process()
			if err := operator.Init(d.Context(), d.space); err != nil {
				d.Fatal(err)
			}
			if _, err := operator.Quarantine(d.Context(), time.Time{}); err != nil {
				d.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			declare(t, func(t *testing.T, d *declared) {
				knows := d.process()
				g := mustAcquire(t, knows, d.request("before", 4))
				time.Sleep(time.Minute) // so that what others have put on record is certainly later
				d.server.Delete()
				others(d)
				least := d.end()
				notices(t, knows, g)
				mustAcquire(t, knows, wantsIn(d.space, "after"))
				d.wantFloor(name, least)
				if m := d.server.Meta(); m.MinReader != protocol.DeclaredVersion {
					t.Errorf("programs that read version %d may read it", m.MinReader)
				}
				if floor, err := d.process().Lower(t.Context()); err != nil ||
					d.space.Scale.Tick(floor.UnixMicro()) < least {
					t.Errorf("Lower: %v, %v; want at least %d", floor, err, least)
				}
			})
		})
	}
}

// TestResumeLongWindow: who resumes a grant may ask for what the namespace declares, not for
// what another file said.
func TestResumeLongWindow(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		g := mustAcquire(t, d.process(), d.request("token", 1))
		g.Handle = nil
		until := func(ahead time.Duration) int64 {
			return d.space.Scale.Tick(time.Now().Add(ahead).UnixMicro())
		}
		r, err := d.process().Resume(t.Context(), g, "next", until(7*time.Hour))
		if !errors.Is(err, coord.ErrInvalid) || errors.Is(err, coord.ErrLeaseLost) ||
			!strings.Contains(fmt.Sprint(err), "Horizon is 7h0m0s") {
			t.Errorf("Resume with 7 h: %v, %v", r, err)
		}
		if r, err = d.process().Resume(t.Context(), g, "next", until(sixHours)); err != nil ||
			r.Generation != g.Generation+1 {
			t.Errorf("Resume with 6 h: %v, %v", r, err)
		}
	})
}

// TestLongWindowMakesNoNamespace: a start with a long horizon, before the namespace is
// declared, does not make one that lacks it, and changes nothing in one that does.
func TestLongWindowMakesNoNamespace(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		refused := func(c *protocol.Coordinator, says string) {
			t.Helper()
			before := d.server.Meta()
			for range 2 {
				if g, err := c.Acquire(t.Context(), d.request("early", 1)); !errors.Is(err, coord.ErrInvalid) ||
					!strings.Contains(err.Error(), says) {
					t.Errorf("Acquire: %v, %v; want %q", g, err, says)
				}
			}
			if m := d.server.Meta(); m != before {
				t.Errorf("the namespace is %+v", m)
			}
		}
		d.server.Delete()
		c := d.process()
		refused(c, "Horizon is 6h0m0s, and namespace \"orders\" is not there; declare a new one with "+
			"'unalike init --max-horizon 6h0m0s'")
		if err := d.process().Init(t.Context(), d.space); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, c, d.request("in time", 1))
		d.server.Delete()
		mustAcquire(t, d.process(), wantsIn(d.space, "newcomer"))
		refused(d.process(), "has 2m0s at most")
	})
}

// TestResumeAfterClockStep: the clock was set back after the request was made, or the generator
// has another clock than the coordinator. That is no longer horizon: the window is cut to what
// the coordinator's clock allows, and so are its renewals. Where the back end has a clock, one
// of this machine refuses nothing.
func TestResumeAfterClockStep(t *testing.T) {
	for _, tt := range []struct {
		by     time.Duration
		server bool
	}{{by: 2 * time.Second}, {by: 50 * time.Second}, {by: time.Hour, server: true}} {
		declare(t, func(t *testing.T, d *declared) {
			if tt.server {
				d.server.Clock = (&shifted{}).UnixMicro
			}
			g := mustAcquire(t, d.process(), d.request("token", 1))
			g.Handle = nil
			time.Sleep(2 * time.Minute) // so that the window grows
			c, _ := tap(t, d.server, &shifted{by: -tt.by})
			until := func() int64 { return d.space.Scale.Tick(time.Now().Add(sixHours).UnixMicro()) }
			want := func() int64 {
				if tt.server {
					return until()
				}
				return min(until(), d.end()-tt.by.Milliseconds())
			}
			r, err := c.Resume(t.Context(), g, "next", until())
			if err != nil || r.NotAfter != want() {
				t.Fatalf("Resume with a clock that is %v behind: %v, %v; want the end at %d", tt.by, r, err,
					want())
			}
			time.Sleep(time.Minute)
			if r, err = c.Renew(t.Context(), r, until()); err != nil || r.NotAfter != want() {
				t.Errorf("Renew with a clock that is %v behind: %v, %v; want the end at %d", tt.by, r, err,
					want())
			}
		})
	}
}
