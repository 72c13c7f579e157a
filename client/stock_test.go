package client

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// stocked returns a client with runs of IDs, without any server.
func stocked(t *testing.T, prefetch int, runs ...int64) *Client {
	t.Helper()
	c, err := New([]string{"http://host"}, Options{Prefetch: prefetch, MaxAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.fetching, c.last = true, &result{} // so that none is asked
	b := newBatch(prefetch, len(runs))
	for i, n := range runs {
		b.add(first(i), n)
	}
	c.mu.Lock()
	c.store(b)
	c.mu.Unlock()
	return c
}

// first is where run number i begins.
func first(i int) core.ID { return core.ID(1000 * (i + 1)) }

// TestHalves: whatever the runs are, all IDs come once and in order, and more are asked for when
// half of them are used.
func TestHalves(t *testing.T) {
	for _, runs := range [][]int64{
		{1},
		{2},
		{3},
		{1, 1},
		{4, 4},
		{3, 5},
		{5, 3},
		{7, 1},
		{1, 7},
		{8},
		{1, 1, 1, 1, 1, 1, 1, 1},
		{2, 3, 2},
	} {
		all := 0
		for _, n := range runs {
			all += int(n)
		}
		c := stocked(t, all, runs...)
		c.fetching, c.working = false, true // so that it is seen
		taken := 0
		for i, n := range runs {
			for k := range n {
				id, ok := c.pop()
				if taken++; !ok || id != first(i)+core.ID(k) {
					safetytest.Of(t).Fatalf("%v: %v, %v in place of %v", runs, id, ok, first(i)+core.ID(k))
				}
				if want := all > 1 && taken > all/2; c.fetching != want {
					t.Fatalf("%v: asked for more after %d: %v", runs, taken, c.fetching)
				}
			}
		}
		if id, ok := c.pop(); ok {
			safetytest.Of(t).Errorf("%v: %v is one too many", runs, id)
		}
	}
}

// TestLateCaller: a caller who was held up between finding the stock and taking of it has nothing
// of what was dropped.
func TestLateCaller(t *testing.T) {
	for name, drop := range map[string]func(*Client){
		"too old": func(c *Client) { c.drop(c.stock) },
		"closed":  func(c *Client) { _ = c.Close() },
	} {
		c := stocked(t, 10, 10)
		p := c.piece.Load()
		if _, ok := p.take(c.clock); !ok {
			t.Fatal("there is none")
		}
		drop(c)
		if id, ok := p.take(c.clock); ok {
			safetytest.Of(t).Errorf("%s: %v", name, id)
		}
	}
}

// TestEachOnce: a round asks every server once, also one that rests while the others fail: without
// it a refusal is not one of all.
func TestEachOnce(t *testing.T) {
	c, err := New([]string{"http://a", "http://b", "http://c"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	c.servers[1].rests = time.Now().Add(time.Hour)
	c.rounds++
	asked := map[string]bool{}
	for i := range c.servers {
		e := c.pick(i > 0)
		asked[e.host] = true
		e.rests = time.Now().Add(time.Hour)
	}
	if len(asked) != len(c.servers) {
		t.Errorf("asked were %v", asked)
	}
}
