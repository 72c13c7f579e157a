package protocol_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// between are two losses, of which a process has noticed the first and could not deal with
// it yet.
type between struct {
	server *memstore.Server
	p      *protocol.Coordinator
	g      coord.Grant
	tap    func(call string)           // has p's calls of a kind fail; "": none
	during func(call string, f func()) // has something happen while p's first call of a kind is under way
}

// noticed returns a process that has noticed a loss, back to a state that restore puts the
// server back to once more.
func noticed(t *testing.T) (b between, restore func()) {
	t.Helper()
	b.server = memstore.NewServer("a")
	p, st := tap(t, b.server, nil)
	b.p = p
	b.tap = func(failing string) {
		st.tap = func(call string, _ bool) error {
			if call == failing {
				return errNoAnswer
			}
			return nil
		}
	}
	b.during = func(call string, f func()) {
		st.tap = func(c string, answered bool) error {
			if c == call && !answered && f != nil {
				now := f
				f = nil
				now()
			}
			return nil
		}
	}
	var err error
	if b.g, err = p.Acquire(t.Context(), within("p", coord.Range{Count: 1})); err != nil {
		t.Fatal(err)
	}
	restore = b.server.Snapshot()
	if b.g, err = p.Renew(t.Context(), b.g, b.g.NotAfter+1000); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second)
	restore()
	b.looks(t, "survey")
	return b, restore
}

// looks has the process see what is stored, while its calls of a kind fail.
func (b *between) looks(t *testing.T, failing string) {
	t.Helper()
	b.tap(failing)
	defer b.tap("")
	if _, err := b.p.Renew(t.Context(), b.g, b.g.NotAfter+1); !errors.Is(err, errNoAnswer) {
		t.Fatalf("Renew: %v", err)
	}
}

// deals has the process deal with what it has noticed.
func (b *between) deals(t *testing.T) {
	t.Helper()
	if _, err := b.p.Renew(t.Context(), b.g, b.g.NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) && !errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Renew: %v", err)
	}
}

// within is a request for a share of the worker IDs.
func within(token string, share coord.Range) coord.Request {
	r := wants(token)
	r.Workers = share
	return r
}

// TestFloorSeenBetweenLosses: what a process sees of the floor between a loss that it has
// noticed and its dealing with that is not forgotten in a second loss.
func TestFloorSeenBetweenLosses(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		b, restore := noticed(t)
		operator, _ := tap(t, b.server, nil)
		if _, err := operator.Quarantine(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		want := b.server.Meta().Base
		b.looks(t, "commit")
		restore()
		b.deals(t)
		if got := b.server.Meta(); got.Base < want || got.Floor < want || got.Loss.Nonce == "" {
			t.Errorf("an operator has raised the floor to %d, and after the loss of that it is %+v", want, got)
		}
	})
}

// TestLossSettledAfterSeen: what is seen after a loss that was dealt with shows nothing, if
// there was no second one.
func TestLossSettledAfterSeen(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		b, _ := noticed(t)
		operator, _ := tap(t, b.server, nil)
		if _, err := operator.Quarantine(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		first := b.server.Meta().Loss
		time.Sleep(3 * time.Minute)
		for range 3 {
			b.looks(t, "survey")
		}
		b.deals(t)
		if got := b.server.Meta().Loss; got != first {
			t.Errorf("a loss was dealt with as %+v, and then again as %+v", first, got)
		}
	})
}

// TestSeenWhileTheFloorIsRaised: a process raises the floor after a loss, and a request of
// that takes its time. Meanwhile the same process sees something new, and that is lost too:
// what is stored is again what it was when the request was made.
func TestSeenWhileTheFloorIsRaised(t *testing.T) {
	one := coord.Range{First: 1, Count: 1}
	// What is seen, and the tick below which nothing may be granted then.
	seen := map[string]func(t *testing.T, server *memstore.Server) int64{
		"an operator's floor": func(t *testing.T, server *memstore.Server) int64 {
			operator, _ := tap(t, server, nil)
			if _, err := operator.Quarantine(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
			return server.Meta().Base
		},
		"a window": func(t *testing.T, server *memstore.Server) int64 {
			time.Sleep(3 * time.Minute) // it ends above what the floor was to be raised to
			x, _ := tap(t, server, nil)
			lost, err := x.Acquire(t.Context(), within("x", one))
			if err != nil {
				t.Error(err)
			}
			return lost.NotAfter
		},
	}
	for _, slow := range []string{"survey"} {
		for what, see := range seen {
			for how, lose := range losses {
				t.Run(slow+", "+what+", "+how, func(t *testing.T) {
					inOurTime(t, func(t *testing.T) {
						b, restore := noticed(t)
						var want int64
						b.during(slow, func() {
							want = see(t, b.server)
							if _, err := b.p.Inspect(t.Context()); err != nil {
								t.Error(err)
							}
							lose(b.server, restore)
						})
						for range 4 {
							_, err := b.p.Renew(t.Context(), b.g, b.g.NotAfter+1)
							if err != nil && !errors.Is(err, coord.ErrQuarantined) && !errors.Is(err, coord.ErrLeaseLost) {
								t.Fatal(err)
							}
						}
						if got := b.server.Meta(); want == 0 || got.Floor < want {
							t.Errorf("the floor is to be %d, and the namespace is %+v", want, got)
						}
						if g, err := b.p.Acquire(t.Context(), within("q", one)); err == nil && g.NotBefore < want {
							t.Errorf("%v is granted; what was lost ends at %d", g, want)
						}
					})
				})
			}
		}
	}
}

// TestTwoCallsDealWithALoss: two calls of a process raise the floor at once. The second finds
// that it is done, and writes nothing.
func TestTwoCallsDealWithALoss(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		b, _ := noticed(t)
		var done protocol.Meta
		b.during("survey", func() {
			b.deals(t)
			done = b.server.Meta()
			time.Sleep(time.Second)
		})
		b.deals(t)
		if got := b.server.Meta(); done.Loss.Nonce == "" || got != done {
			t.Errorf("one call has stored %+v, and another %+v", done, got)
		}
	})
}

// TestNoticedInTheMiddle: another call of a process notices a loss while the answer to a call is
// under way. What that was granted, or extended, is not used.
func TestNoticedInTheMiddle(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string // that is under way
		call   func(t *testing.T, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error)
	}{
		"Acquire": {"commit", func(t *testing.T, c *protocol.Coordinator, _ coord.Grant) (coord.Grant, error) {
			return c.Acquire(t.Context(), wants("new"))
		}},
		"Acquire again": {"look", func(t *testing.T, c *protocol.Coordinator, _ coord.Grant) (coord.Grant, error) {
			return c.Acquire(t.Context(), wants("p"))
		}},
		"Renew": {"commit", func(t *testing.T, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error) {
			return c.Renew(t.Context(), g, g.NotAfter+1)
		}},
		"Release": {"", func(t *testing.T, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error) {
			return coord.Grant{NotBefore: math.MaxInt64}, c.Release(t.Context(), g, g.NotBefore)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inOurTime(t, func(t *testing.T) {
				server := memstore.NewServer("a")
				c, st := tap(t, server, nil)
				g, err := c.Acquire(t.Context(), wants("p"))
				if err != nil {
					t.Fatal(err)
				}
				restore := server.Snapshot()
				other, _ := tap(t, server, nil)
				for _, token := range []string{"x", "y", "z"} {
					if _, err := other.Acquire(t.Context(), wants(token)); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := c.Inspect(t.Context()); err != nil { // it sees a number that is lost
					t.Fatal(err)
				}
				if tt.answer == "" {
					restore()
				}
				st.tap = func(call string, answered bool) error {
					if call != tt.answer || !answered {
						return nil
					}
					st.tap = nil
					restore()
					_, err := c.Inspect(t.Context())
					return err
				}
				h, err := tt.call(t, c, g)
				if floor := server.Meta().Floor; floor == 0 || err == nil && h.NotBefore < floor || err != nil && !errors.Is(err, coord.ErrQuarantined) {
					t.Errorf("%v, %v; the floor is %d", h, err, floor)
				}
			})
		})
	}
}
