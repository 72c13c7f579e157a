package local

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

const declaredHorizon = 6 * time.Hour

// declared returns a rig whose namespace was declared with a longest horizon; 0: with none.
func declared(t *testing.T, maxHorizon time.Duration) *rig {
	t.Helper()
	r := newRig(t)
	if err := memory(t, r.server).Init(r.ctx(), coord.Space{Fingerprint: layout, Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024, MaxHorizon: maxHorizon}); err != nil {
		t.Fatal(err)
	}
	return r
}

// ahead is a request for a window that reaches as far ahead.
func (r *rig) ahead(horizon time.Duration) coord.Request {
	req := r.request(4)
	req.Until = req.Now + horizon.Milliseconds()
	return req
}

// leftAhead has a process acquire a window and crash, and returns its grant.
func (r *rig) leftAhead(horizon time.Duration) coord.Grant {
	r.Helper()
	p := r.start()
	g, err := p.Acquire(r.ctx(), r.ahead(horizon))
	if err != nil {
		r.Fatal(err)
	}
	p.known()
	p.kill()
	return g
}

// TestLongerThanDeclared: a process that was started again with a longer horizon than its namespace
// allows is refused, although the back end takes one that is so little longer for that of a clock
// which differs. So is its first renewal, if it went on while the back end was away.
func TestLongerThanDeclared(t *testing.T) {
	for _, maxHorizon := range []time.Duration{declaredHorizon, 0} {
		longest := max(maxHorizon, 2*time.Minute)
		for _, beyond := range []time.Duration{time.Millisecond, 30 * time.Second, 2 * time.Minute} {
			r := declared(t, maxHorizon)
			g := r.leftAhead(longest)
			says := fmt.Sprintf("Horizon is %v, and the namespace of state file %q has %v at most; declare a new one with 'unalike init --max-horizon %v', which may follow this one (--after)",
				longest+beyond, r.file(), longest, longest+beyond)
			refused := func(err error) bool {
				return errors.Is(err, coord.ErrInvalid) && !errors.Is(err, coord.ErrLeaseLost) && strings.Contains(err.Error(), says)
			}
			p := r.start()
			if h, err := p.Acquire(r.ctx(), r.ahead(longest+beyond)); !refused(err) {
				t.Errorf("%v more than %v: %v, %v; want %q", beyond, longest, h, err, says)
			}
			if n := p.link.resumed.Load(); n != 0 {
				t.Errorf("%v more than %v: %d requests to resume were sent", beyond, longest, n)
			}
			p.kill()

			r.away.Store(true)
			p = r.start()
			h, err := p.Acquire(r.ctx(), r.ahead(longest+beyond))
			if err != nil || h.WorkerID != g.WorkerID {
				t.Fatalf("%v more than %v, while the back end is away: %v, %v after %v", beyond, longest, h, err, g)
			}
			r.away.Store(false)
			r.eventually("the renewal is refused", func() bool {
				if h, err = p.Renew(r.ctx(), h, r.ahead(longest+beyond).Until); err != nil {
					t.Fatalf("%v more than %v: Renew: %v; inside the window it goes on", beyond, longest, err)
				}
				o, ok := p.Outage(h)
				return ok && refused(o.Failing)
			})
			p.kill()

			if h, err = r.start().Acquire(r.ctx(), r.ahead(longest)); err != nil || h.WorkerID != g.WorkerID || h.Generation != g.Generation+1 {
				t.Errorf("%v, as declared: %v, %v after %v", longest, h, err, g)
			}
		}
	}
}

// TestLongerThanDeclaredAndLost: a file that does not know its namespace, which is not there any
// more: that is what is told, and not how long its windows may be.
func TestLongerThanDeclaredAndLost(t *testing.T) {
	r := declared(t, declaredHorizon)
	p := r.start()
	p.link.silent = true
	p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
		if op == "inspect" {
			return errAway
		}
		return nil
	}
	if _, err := p.Acquire(r.ctx(), r.ahead(declaredHorizon)); err != nil {
		t.Fatal(err)
	}
	p.kill()
	r.server = memstore.NewServer("b")
	const says = `Horizon is 6h0m0s, and namespace "orders" is not there; declare a new one with 'unalike init --max-horizon 6h0m0s'`
	if h, err := r.start().Acquire(r.ctx(), r.ahead(declaredHorizon)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(fmt.Sprint(err), says) {
		t.Errorf("%v, %v; want %q", h, err, says)
	}
}
