package client_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/core"
)

// hung is a server that takes requests, and never answers.
type hung struct{ asked atomic.Int64 }

// ServeHTTP implements http.Handler.
func (h *hung) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	<-r.Context().Done()
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
							t.Errorf("%v after %d: %v", id, before, err)
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

// TestMostFrozen: while one server of three answers and the others say nothing, all callers but the
// first ones have IDs in time, whichever is asked first: a round has one wait for a server that has
// not answered before. Each of those costs one wait now and then, and not every second request.
func TestMostFrozen(t *testing.T) {
	for first := range 3 {
		synctest.Test(t, func(t *testing.T) {
			a, b := new(hung), new(hung)
			all := network{"a": a, "b": b, "c": newStub(1, "n")}
			c := all.client(t, client.Options{Prefetch: 10}, "a", "b", "c")
			c.StartAt(first)
			if _, err := c.NextContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			take(t, c, 600, 100*time.Millisecond)
			most := 2 + int64(time.Since(start)/(5*time.Second))
			if na, nb := a.asked.Load(), b.asked.Load(); min(na, nb) < 3 || max(na, nb) > most {
				t.Errorf("those that say nothing were asked %d and %d times, want 3 to %d", na, nb, most)
			}
		})
	}
}
