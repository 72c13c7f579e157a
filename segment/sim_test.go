package segment_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// network is between programs and a store: it loses, delays and, of what may be sent again, replays.
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
	case what == 3 && op == "take": // a proxy sends it again, also later, and the first reply is the caller's
		err := do()
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

// ledger is who got which number.
type ledger struct {
	mu  sync.Mutex
	who map[int64]int
}

func (l *ledger) note(t *testing.T, seed uint64, process int, numbers []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range numbers {
		if other, there := l.who[n]; there {
			t.Errorf("seed %d: %d was given out by processes %d and %d", seed, n, other, process)
		}
		l.who[n] = process
	}
}

// TestSimulation: programs come and go, are killed, and close, over a network that loses, delays and
// replays: no number comes twice, each program's numbers rise, and in the end all of them work.
func TestSimulation(t *testing.T) {
	for seed := range uint64(fulltest.Rounds(60, 20_000)) {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
	}
}

func simulate(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	store := segmenttest.NewFake(segment.Tag{Name: "t", Next: 1, Step: 1 + rng.Int64N(20)})
	net := &network{rng: rand.New(rand.NewPCG(seed, 3)), bad: rng.Float64() * 0.6}
	store.Intercept(net.between)
	l := &ledger{who: map[int64]int{}}
	var running sync.WaitGroup
	for process := range 5 {
		mine := rand.New(rand.NewPCG(seed, uint64(100+process)))
		running.Go(func() {
			for range 4 {
				life(t, seed, store, process, mine, l)
			}
		})
	}
	running.Wait()
	time.Sleep(time.Minute) // what was delayed arrives
	store.Intercept(nil)
	s, err := segment.New(t.Context(), store, "t", segment.Config{})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	defer s.Close(t.Context())
	last := make([]int64, 100)
	if _, err := s.Fill(t.Context(), last); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	l.note(t, seed, -1, last)
}

// life is that of one program. Half of them are closed; the others stop as if they were killed.
func life(t *testing.T, seed uint64, store segment.Store, process int, rng *rand.Rand, l *ledger) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	s, err := segment.New(ctx, store, "t", segment.Config{MaxStep: 1 + rng.Int64N(40), Hold: time.Duration(1+rng.IntN(100)) * time.Second})
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	top := int64(0)
	for range rng.IntN(40) {
		got := make([]int64, 1+rng.IntN(15))
		n, err := s.Fill(ctx, got)
		if err != nil {
			t.Errorf("seed %d: Fill: %v", seed, err)
			return
		}
		for _, v := range got[:n] {
			if v <= top {
				t.Errorf("seed %d: after %d came %d", seed, top, v)
			}
			top = v
		}
		l.note(t, seed, process, got[:n])
		time.Sleep(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
	}
	closing, end := context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(4*time.Second))))
	defer end()
	if rng.IntN(2) == 0 {
		end() // it gives nothing back
	}
	_ = s.Close(closing) // that this is not known is no mistake
}
