package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// paced takes so long for each ID, as a server does whose layout has few of them a second.
type paced struct {
	*slow
	each time.Duration
}

// newPaced returns one that allows IDs.
func newPaced(each time.Duration) *paced {
	return &paced{slow: &slow{stub: newStub(1, "n"), most: 1000}, each: each}
}

// ServeHTTP implements http.Handler.
func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.slow.ServeHTTP(w, r)
	p.mu.Lock()
	takes := time.Duration(p.last) * p.each
	p.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
	}
}

// set has it allow so many IDs, which take so long from now on.
func (p *paced) set(most uint32, each time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most, p.each = most, each
}

// TestShortOfTime: callers who use up what comes go on having IDs of a server that has no time for
// twice as many in one request.
func TestShortOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(time.Millisecond / 10)
		c := network{"a": p}.client(t, client.Options{Prefetch: 100, Timeout: time.Minute}, "a")
		take(t, c, 1000, 0)
		if got := p.counts(); !slices.Contains(got, 200) {
			t.Errorf("while there is time: %v", got)
		}
		const each = 13 * time.Millisecond
		p.set(1000, each)
		start := time.Now()
		take(t, c, 1000, 0)
		// one request was too large
		if took, most := time.Since(start), 1000*each+4*time.Second; took > most {
			t.Errorf("1000 took %v, want at most %v; it was asked for %v", took, most, p.counts())
		}
	})
}

// TestOneCannotRead: a server that takes every request for a bad one, as a port of TLS does with a
// request that is not of TLS, or that allows fewer IDs, does not stop one that answers.
func TestOneCannotRead(t *testing.T) {
	a, b := two(t)
	a.fault.Store(says(http.StatusBadRequest))
	take(t, newClient(t, stocks(10), a, b), 200, 0)
}

// TestOrder: an ID is above every one that was had before it was asked for, by whichever caller,
// while stocks are used up, dropped and replaced all the time.
func TestOrder(t *testing.T) {
	for name, o := range map[string]client.Options{
		"short":   stocks(8),
		"dropped": {Prefetch: 500, Timeout: time.Minute, MaxAge: 50 * time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			c := network{"a": newStub(1, "n")}.client(t, o, "a")
			var newest atomic.Int64
			var work sync.WaitGroup
			for range 8 {
				work.Go(func() {
					for range 5000 {
						before := newest.Load()
						id, err := c.Next()
						if err != nil || id <= core.ID(before) {
							safetytest.Unless(t, err).Errorf("%v after %d: %v", id, before, err)
							return
						}
						for now := newest.Load(); now < int64(id) && !newest.CompareAndSwap(now, int64(id)); {
							now = newest.Load()
						}
					}
				})
			}
			work.Wait()
		})
	}
}

// TestNotRefusedAnyMore: a caller who gives up while servers say nothing hears of that, and not of
// a refusal before.
func TestNotRefusedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(0)
		p.set(0, 0)
		c := network{"a": p}.client(t, client.Options{Prefetch: 10}, "a")
		if _, err := c.Next(); !errors.Is(err, client.ErrRefused) {
			t.Fatalf("%v", err)
		}
		time.Sleep(time.Second) // until it is asked again
		p.set(1000, time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.NextContext(ctx); !errors.Is(err, client.ErrUnavailable) ||
			errors.Is(err, client.ErrRefused) {
			t.Errorf("%v", err)
		}
		p.set(1000, 0)
		if _, err := c.Next(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestMostFrozen: while one server of three answers and the others say nothing, all callers but the
// first ones have IDs in time, whichever is asked first: a round has one wait for a server that has
// not answered before.
func TestMostFrozen(t *testing.T) {
	for first := range 3 {
		synctest.Test(t, func(t *testing.T) {
			a, b := newPaced(time.Hour), newPaced(time.Hour)
			all := network{"a": a, "b": b, "c": newPaced(0)}
			c := all.client(t, client.Options{Prefetch: 10}, "a", "b", "c")
			c.StartAt(first)
			if _, err := c.NextContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			take(t, c, 600, 100*time.Millisecond)
			if na, nb := len(a.counts()), len(b.counts()); na < 3 || nb < 3 {
				t.Errorf("those that say nothing were asked %d and %d times", na, nb)
			}
		})
	}
}
