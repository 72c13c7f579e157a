package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// lease are times that make a test short: a TTL as short as etcd has it.
func lease() coord.LeaseConfig {
	return coord.LeaseConfig{TTL: 2 * time.Second, Horizon: 8 * time.Second, RenewEvery: 500 * time.Millisecond}
}

// generate starts a generator that is closed with the test.
func generate(t *testing.T, c coord.Coordinator, cfg core.Config) *core.Generator {
	t.Helper()
	g, err := core.New(within(t), c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		if err := g.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Logf("closing the generator: %v", err)
		}
	})
	return g
}

// stream takes IDs until stop is called, which returns how many there were and the
// first error.
type stream struct {
	quit chan struct{}
	done chan struct{}
	n    int
	err  error
	last core.ID
}

// run takes IDs at a pace that leaves the machine to others. Every ID must lie above
// the one before.
func run(g *core.Generator) *stream {
	s := &stream{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-pace.C:
			}
			id, err := g.Next()
			if err == nil && id <= s.last {
				err = errors.New("an ID is not above the one before")
			}
			if err != nil {
				s.err = err
				return
			}
			s.last, s.n = id, s.n+1
		}
	}()
	return s
}

// stop ends the stream; it must have given at least so many IDs, without an error.
func (s *stream) stop(t *testing.T, atLeast int) {
	t.Helper()
	close(s.quit)
	<-s.done
	if s.err != nil {
		t.Errorf("after %d IDs: %v", s.n, s.err)
	}
	if s.n < atLeast {
		t.Errorf("%d IDs were issued; a test with fewer than %d proves nothing", s.n, atLeast)
	}
}

// failed tells whether the stream has ended with an error.
func (s *stream) failed() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// worker returns the health of the generator's only worker ID.
func worker(t *testing.T, g *core.Generator) core.WorkerHealth {
	t.Helper()
	h := g.Health()
	if len(h.Workers) != 1 {
		t.Fatalf("%d worker IDs are leased; want 1", len(h.Workers))
	}
	return h.Workers[0]
}

// renewedSince waits until the generator's window was extended after a moment.
func renewedSince(t *testing.T, g *core.Generator, moment time.Time) {
	t.Helper()
	eventually(t, "the window is extended", func() bool { return worker(t, g).LastRenewal.After(moment) })
}
