package segment_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/segment"
)

// network is between programs and a store: it loses, delays and, of what may be sent again,
// replays.
type network struct {
	mu  sync.Mutex
	rng *rand.Rand
	bad float64 // how often something happens to a call
}

var errLost = errors.New("the connection was lost")

func (n *network) draw() (what int, delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rng.Float64() >= n.bad {
		return -1, time.Duration(n.rng.Int64N(int64(5 * time.Millisecond)))
	}
	return n.rng.IntN(5), time.Duration(n.rng.Int64N(int64(10 * time.Second)))
}

// between is a call's way. A request that was sent arrives even if its sender has given up.
func (n *network) between(ctx context.Context, op, _ string, do func() error) error {
	what, delay := n.draw()
	arrive := func(after time.Duration) <-chan error {
		done := make(chan error, 1)
		go func() {
			time.Sleep(after)
			done <- do()
		}()
		return done
	}
	switch {
	case what == 0: // the request is lost
		return errLost
	case what == 1: // the reply is lost
		return errors.Join(errLost, <-arrive(0))
	case what == 2: // the connection is lost, and the request arrives later
		arrive(delay)
		return errLost
	case what == 3 && op == "take": // a proxy sends it again, also later
		err := do() // the first reply is the caller's
		arrive(delay)
		return err
	case what == 4: // all is slow
	default:
		delay = min(delay, 5*time.Millisecond)
	}
	select {
	case err := <-arrive(delay):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestSimulation: programs come and go, are killed, and close, over a network that loses, delays
// and replays: no number comes twice, each program's numbers rise, and in the end all of them work.
func TestSimulation(t *testing.T) {
	for seed := range uint64(fulltest.Rounds(60, 20_000)) {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
	}
}

func simulate(t *testing.T, seed uint64) {
	defer func() {
		if t.Failed() {
			t.Log("seed", seed)
		}
	}()
	rng := rand.New(rand.NewPCG(seed, 2))
	store := fake(1 + rng.Int64N(20))
	net := &network{rng: rand.New(rand.NewPCG(seed, 3)), bad: rng.Float64() * 0.6}
	store.Intercept(net.between)
	var seen ledger
	var running sync.WaitGroup
	for process := range 5 {
		mine := rand.New(rand.NewPCG(seed, uint64(100+process)))
		running.Go(func() {
			for range 4 {
				life(t, store, mine, &seen)
			}
		})
	}
	running.Wait()
	time.Sleep(time.Minute) // what was delayed arrives
	store.Intercept(nil)
	s := sequence(t, store, segment.Config{})
	for range 100 {
		n, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		seen.note(t, n)
	}
}

// life is that of one program. Half of them are closed; the others stop as if they were killed.
func life(t *testing.T, store segment.Store, rng *rand.Rand, seen *ledger) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	hold := time.Duration(1+rng.IntN(100)) * time.Second
	s, err := segment.New(ctx, store, "t", segment.Config{
		MaxStep: 1 + rng.Int64N(40)*rng.Int64N(2), Hold: hold, OnDemand: rng.IntN(3) == 0,
	})
	if err != nil {
		t.Error(err)
		return
	}
	top := int64(0)
	for range rng.IntN(40) {
		got := make([]int64, 1+rng.IntN(15))
		if _, err := s.Fill(ctx, got); err != nil {
			t.Errorf("Fill: %v", err)
			return
		}
		for _, n := range got {
			if n <= top {
				safetytest.Of(t).Errorf("after %d came %d", top, n)
			}
			top = n
			seen.note(t, n)
		}
		time.Sleep(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
	}
	closing, end := context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(4*time.Second))))
	defer end()
	if rng.IntN(2) == 0 {
		end() // it gives nothing back
	}
	_ = s.Close(closing) // that this is not known is no mistake
}
