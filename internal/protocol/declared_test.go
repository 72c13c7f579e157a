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
	return over(d.T, memstore.Store{Server: d.server}, rightClock{}, nil)
}

// request asks for one of n worker IDs for as long as windows may be.
func (d *declared) request(token string, n int) coord.Request {
	req := requestIn(d.space, rightClock{}, token)
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
	if m := d.server.Meta(); m.Floor < least || m.Loss.Floor < least || m.MaxHorizon != sixHours.Milliseconds() {
		d.Errorf("%s: floor %d, of the loss %d, and windows of up to %d ms; want at least %d", what, m.Floor, m.Loss.Floor, m.MaxHorizon, least)
	}
}

// TestLossOfLongWindows: whoever notices a loss waits for as long as windows may be that the
// namespace declares, whatever its own are.
func TestLossOfLongWindows(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		restore := d.server.Snapshot()
		gone := mustAcquire(t, d.process(), d.request("gone", 4))
		short := d.process() // has short windows itself
		g := mustAcquire(t, short, requestIn(d.space, rightClock{}, "short"))
		restore()
		least := d.end()
		if r, err := short.Renew(t.Context(), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew of what was lost: %v, %v", r, err)
		}
		h := mustAcquire(t, d.process(), requestIn(d.space, rightClock{}, "after the loss"))
		d.wantFloor("after a loss", least)
		if h.NotBefore < gone.NotAfter {
			t.Errorf("%v was lost, and %v is granted", gone, h)
		}
		if floor, err := d.process().Lower(t.Context()); err != nil || d.space.Scale.Tick(floor.UnixMicro()) < least {
			t.Errorf("Lower: %v, %v; want at least %d", floor, err, least)
		}
	})
}

// TestNamespaceLostThatWasDeclared: the namespace is gone. Who remembers it makes it again as
// it was declared; where somebody else has made it, who does not, that is as long in force,
// also for those who lower the floor.
func TestNamespaceLostThatWasDeclared(t *testing.T) {
	for name, others := range map[string]func(d *declared){
		"nobody else comes": func(*declared) {},
		"a newcomer has made it": func(d *declared) {
			d.space.MaxHorizon = 0
			mustAcquire(d.T, d.process(), requestIn(d.space, rightClock{}, "newcomer"))
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
				if r, err := knows.Renew(t.Context(), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
					t.Errorf("Renew of what was lost: %v, %v", r, err)
				}
				mustAcquire(t, knows, requestIn(d.space, rightClock{}, "after"))
				d.wantFloor(name, least)
				if m := d.server.Meta(); m.MinReader != protocol.DeclaredVersion {
					t.Errorf("programs that read version %d may read it", m.MinReader)
				}
				if floor, err := d.process().Lower(t.Context()); err != nil || d.space.Scale.Tick(floor.UnixMicro()) < least {
					t.Errorf("Lower: %v, %v; want at least %d", floor, err, least)
				}
			})
		})
	}
}

// TestNamespaceLostToAnotherLayout: the namespace is gone, and somebody has made another of its
// name, with a layout of its own and short windows. What is remembered is for another layout,
// and its windows are as long all the same: the floor is above them, whatever an operator has
// said of shorter ones.
func TestNamespaceLostToAnotherLayout(t *testing.T) {
	for name, said := range map[string]bool{"nobody noticed": false, "an operator said that there was a loss": true} {
		t.Run(name, func(t *testing.T) {
			declare(t, func(t *testing.T, d *declared) {
				knows := d.process()
				g := mustAcquire(t, knows, d.request("before", 4))
				time.Sleep(time.Minute) // so that what the operator has put on record is certainly later
				d.server.Delete()
				d.space.Fingerprint, d.space.MaxHorizon = "another", 0
				other := d.process()
				mustAcquire(t, other, requestIn(d.space, rightClock{}, "other"))
				if said {
					if _, err := other.Quarantine(t.Context(), time.Time{}); err != nil {
						t.Fatal(err)
					}
				}
				least := d.end()
				if r, err := knows.Renew(t.Context(), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
					t.Errorf("Renew of what was lost: %v, %v", r, err)
				}
				mustAcquire(t, knows, requestIn(d.space, rightClock{}, "after"))
				if m := d.server.Meta(); m.Floor < least || m.Loss.Floor < least {
					t.Errorf("floor %d, of the loss %d; want at least %d", m.Floor, m.Loss.Floor, least)
				}
			})
		})
	}
}

// TestTwoNamespacesOfOneName: while a loss is not dealt with, a process sees another namespace
// of the same name, which declares more than the one that it knew. Both count.
func TestTwoNamespacesOfOneName(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		long := d.server.Snapshot()
		d.server.Delete()
		short := d.space
		short.MaxHorizon = 0
		first := d.process()
		if err := first.Init(t.Context(), short); err != nil {
			t.Fatal(err)
		}
		brief := d.server.Snapshot()
		g := mustAcquire(t, first, requestIn(d.space, rightClock{}, "brief"))
		long()
		if n, err := first.Inspect(t.Context()); err != nil || n.MaxHorizon != sixHours {
			t.Fatalf("Inspect: %+v, %v", n, err)
		}
		brief()
		least := d.end()
		if r, err := first.Renew(t.Context(), g, g.NotAfter+1); err == nil {
			t.Errorf("Renew: %v", r)
		}
		mustAcquire(t, first, requestIn(d.space, rightClock{}, "after"))
		d.wantFloor("after a loss between two of them", least)
	})
}

// TestWindowOfACrashedHolder: a window that ends in 6 h is no sign of a wrong clock where the
// namespace says so, and it is where it does not.
func TestWindowOfACrashedHolder(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		g := mustAcquire(t, d.process(), d.request("crashed", 1))
		d.server.Expire(g.WorkerID)
		req := requestIn(d.space, rightClock{}, "next")
		req.Workers.Count = 1
		if h := mustAcquire(t, d.process(), req); h.NotBefore != g.NotAfter {
			t.Errorf("%v after %v", h, g)
		}
		retired, err := d.process().List(t.Context())
		if err != nil || len(retired) != 1 || retired[0].NotAfter < g.NotAfter {
			t.Errorf("List: %+v, %v", retired, err)
		}
	})
}

// TestRenewalOfLongWindows: where the back end has a clock, a window is extended as far as
// the namespace declares, and no further.
func TestRenewalOfLongWindows(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		d.server.Clock = rightClock{}.UnixMicro
		c := newCoordinator(t, d.server, rightClock{})
		g := mustAcquire(t, c, d.request("token", 1))
		time.Sleep(time.Minute)
		for _, ahead := range []time.Duration{sixHours, 7 * time.Hour} {
			want := min(d.space.Scale.Tick(time.Now().Add(ahead).UnixMicro()), d.end())
			var err error
			if g, err = c.Renew(t.Context(), g, d.space.Scale.Tick(time.Now().Add(ahead).UnixMicro())); err != nil || g.NotAfter != want {
				t.Errorf("Renew to %v ahead: %v, %v; want the end at %d", ahead, g, err, want)
			}
		}
	})
}

// TestResumeLongWindow: who resumes a grant may ask for what the namespace declares, not for
// what another file said.
func TestResumeLongWindow(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		g := mustAcquire(t, d.process(), d.request("token", 1))
		g.Handle = nil
		until := func(ahead time.Duration) int64 { return d.space.Scale.Tick(time.Now().Add(ahead).UnixMicro()) }
		r, err := d.process().Resume(t.Context(), g, "next", until(7*time.Hour))
		if !errors.Is(err, coord.ErrInvalid) || errors.Is(err, coord.ErrLeaseLost) || !strings.Contains(fmt.Sprint(err), "Horizon is 7h0m0s") {
			t.Errorf("Resume with 7 h: %v, %v", r, err)
		}
		if r, err = d.process().Resume(t.Context(), g, "next", until(sixHours)); err != nil || r.Generation != g.Generation+1 {
			t.Errorf("Resume with 6 h: %v, %v", r, err)
		}
	})
}

// TestLongWindowMakesNoNamespace: a start with a long horizon, before the namespace is
// declared, does not make one that lacks it.
func TestLongWindowMakesNoNamespace(t *testing.T) {
	declare(t, func(t *testing.T, d *declared) {
		d.server.Delete()
		c := d.process()
		for range 2 {
			const says = "Horizon is 6h0m0s, and namespace \"orders\" is not there; declare a new one with 'unalike init --max-horizon 6h0m0s'"
			if g, err := c.Acquire(t.Context(), d.request("early", 1)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
				t.Errorf("Acquire: %v, %v; want %q", g, err, says)
			}
		}
		if m := d.server.Meta(); m.Nonce != "" {
			t.Errorf("there is a namespace: %+v", m)
		}
		if err := d.process().Init(t.Context(), d.space); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, c, d.request("in time", 1))
	})
}
