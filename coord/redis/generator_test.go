package redis_test

import (
	"context"
	"errors"
	"io"
	"log"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) {
	goredis.SetLogger(quiet{log.New(io.Discard, "", 0)})
	leaktest.Main(m)
}

// quiet takes what the client library would print on standard error.
type quiet struct{ *log.Logger }

func (quiet) Printf(context.Context, string, ...any) {}

// shortHorizon stands in for MaxHorizon where waiting for that would take half a
// minute.
const shortHorizon = 3 * time.Second

// lease are times that make a test short. The horizon is as long as it can be.
func lease() coord.LeaseConfig {
	return coord.LeaseConfig{TTL: 2 * time.Second, Horizon: shortHorizon, RenewEvery: 500 * time.Millisecond}
}

// shortCoordinator is newCoordinator with shortHorizon. Its skew bound is short as well,
// because a quarantine takes both.
func shortCoordinator(tb testing.TB, client goredis.UniversalClient, namespace string) *redis.Coordinator {
	tb.Helper()
	c := newCoordinator(tb, client, namespace, &redis.Options{})
	c.SetMaxHorizon(shortHorizon)
	return c
}

// generate starts a generator that is closed with the test.
func generate(t *testing.T, c coord.Coordinator, l coord.LeaseConfig) *core.Generator {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	g, err := core.New(ctx, c, core.Config{Lease: l})
	// A start tries for as long as the TTL, which is short for a machine that is slow, and
	// so is the skew bound.
	for err != nil && (late(err) || !coord.Permanent(err)) && ctx.Err() == nil {
		g, err = core.New(ctx, c, core.Config{Lease: l})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.Close(ctx) // the server may be gone
	})
	return g
}

// stream takes IDs until stop is called, through errors, and keeps them.
type stream struct {
	quit, done chan struct{}

	mu     sync.Mutex
	ids    []core.ID
	lastID time.Time     // when the last one came
	pause  time.Duration // the longest time without one
	err    error         // the first
	errs   int
	wrong  error // an ID that is not above the one before
}

// run takes IDs at a pace that leaves the machine to others.
func run(g *core.Generator) *stream {
	s := &stream{quit: make(chan struct{}), done: make(chan struct{}), lastID: time.Now()}
	go func() {
		defer close(s.done)
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-pace.C:
				s.take(g)
			}
		}
	}()
	return s
}

func (s *stream) take(g *core.Generator) {
	id, err := g.Next()
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errs++
		if s.err == nil {
			s.err = err
		}
		return
	}
	if n := len(s.ids); n > 0 && tickOf(id) < tickOf(s.ids[n-1]) {
		s.wrong = errors.New("an ID has an earlier tick than the one before")
	}
	s.ids, s.pause, s.lastID = append(s.ids, id), max(s.pause, now.Sub(s.lastID)), now
}

func tickOf(id core.ID) int64 { return id.Int64() >> 22 }

// failed tells whether there was an error.
func (s *stream) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// came returns how many IDs there were.
func (s *stream) came() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

// more waits until so many IDs have come from now on.
func (s *stream) more(t *testing.T, n int) {
	t.Helper()
	n += s.came()
	eventually(t, "more IDs come", func() bool { return s.came() >= n })
}

// stop ends the stream once it has given at least so many IDs: with fewer, a test proves
// nothing.
func (s *stream) stop(t *testing.T, atLeast int) {
	t.Helper()
	eventually(t, "there are enough IDs", func() bool { return s.came() >= atLeast })
	close(s.quit)
	<-s.done
	if s.wrong != nil {
		t.Error(s.wrong)
	}
}

// wantNoError checks that no call failed.
func (s *stream) wantNoError(t *testing.T) {
	t.Helper()
	if s.err != nil {
		t.Errorf("%d calls failed, the first with: %v", s.errs, s.err)
	}
}

// wantUnique checks that no ID came twice, whoever made it.
func wantUnique(t *testing.T, streams ...*stream) {
	t.Helper()
	seen := map[core.ID]int{}
	for i, s := range streams {
		for _, id := range s.ids {
			if j, twice := seen[id]; twice {
				t.Fatalf("ID %d came from generator %d and from generator %d", id, j, i)
			}
			seen[id] = i
		}
	}
	t.Logf("%d IDs of %d generators, all different", len(seen), len(streams))
}
