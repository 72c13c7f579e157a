package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// TestSimulation lets several processes share a few worker IDs for hours of virtual
// time, with everything going wrong that the fake can do, and clocks that step.
// The ledger holds them to S1, S2, S3 and S5 at every step.
//
// A seed decides on what goes wrong; the jitter of the keepers and the scheduler
// have their say too, so a seed that failed may have to be run more than once:
//
//	UNALIKE_SEEDS=8 go test -run 'TestSimulation/seed_7$' -count 20 ./internal/keeper
func TestSimulation(t *testing.T) {
	seeds := uint64(4)
	if s := os.Getenv("UNALIKE_SEEDS"); s != "" {
		var err error
		if seeds, err = strconv.ParseUint(s, 10, 32); err != nil {
			t.Fatalf("UNALIKE_SEEDS is how many seeds to try: %v", err)
		}
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) { simulate(t, seed, time.Hour) })
		})
	}
}

const simWorkers, simProcesses = 4, 3

// longHorizon is that of holders that survive, in a namespace that was declared with it.
const longHorizon = 10 * time.Minute

// world is everything of one simulation.
type world struct {
	t    *testing.T
	fake *coordtest.Fake
	led  *ledger
	// horizon is that of all processes.
	horizon time.Duration

	mu      sync.Mutex
	running []*rig
	zombies []*gate // of processes that crashed or are paused for long
	thieves []coord.Grant
	held    []*coordtest.Held
	stats   map[string]int
}

func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats[what]++
}

func simulate(t *testing.T, seed uint64, d time.Duration) {
	t.Helper()
	f := coordtest.NewFake(coordtest.FakeConfig{Workers: simWorkers})
	w := &world{t: t, fake: f, led: newLedger(t, f), stats: map[string]int{}, horizon: horizon}
	if seed%3 == 2 { // a namespace that was declared with a long one
		w.horizon = longHorizon
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var all sync.WaitGroup
	for i := range uint64(simProcesses) {
		all.Go(func() { w.process(ctx, rand.New(rand.NewPCG(seed, i))) })
	}
	w.chaos(ctx, rand.New(rand.NewPCG(seed, 99)))
	f.Recover()
	all.Wait()
	w.led.checkAll()

	w.led.mu.Lock()
	defer w.led.mu.Unlock()
	for _, term := range w.led.terms {
		switch {
		case term.SteppedBack:
			w.stats["heals"]++
		case term.Grant.Generation > 1:
			w.stats["new generations"]++
		}
	}
	t.Logf("%d terms, %d ticks stamped, %v", len(w.led.terms), len(w.led.stamps), w.stats)
	// A simulation in which nothing happened proves nothing.
	stamps, terms := 5000, 100
	if w.horizon == longHorizon { // who comes after a crash waits for longer
		stamps, terms = 400, 50
	}
	if len(w.led.stamps) < stamps || len(w.led.terms) < terms || len(w.led.gaps) == 0 ||
		w.stats["heals"] < 10 || w.stats["crashes"] < 3 {
		t.Error("too little happened")
	}
}

// process runs one incarnation after the other.
func (w *world) process(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		r := join(w.t, w.fake, w.led, lease(ttl, w.horizon), func(c *keeper.Config) { c.Logger = nil })
		r.stopped = true // not by the test's end, but by end below
		r.clock.Step(time.Duration(rnd.Int64N(2000)-1000) * time.Millisecond)
		short, cancel := context.WithTimeout(ctx, time.Duration(1+rnd.IntN(15))*time.Second)
		err := r.Start(short)
		cancel()
		if err != nil {
			w.count("failed starts")
			pause(ctx, time.Second)
			continue
		}
		w.mu.Lock()
		w.running = append(w.running, r)
		w.mu.Unlock()
		for steps := 200 + rnd.IntN(2000); steps > 0 && ctx.Err() == nil; steps-- {
			pause(ctx, time.Duration(1+rnd.IntN(400))*time.Millisecond)
			w.issue(r, rnd)
		}
		w.end(r, rnd)
		pause(ctx, time.Duration(rnd.IntN(5000))*time.Millisecond)
	}
}

// issue stamps a few IDs: mostly by the clock, now and then at any tick that the
// window allows, because uniqueness must not depend on clocks at all.
func (w *world) issue(r *rig, rnd *rand.Rand) {
	if rnd.IntN(50) == 0 {
		if at := r.gate.at(); at.notAfter > at.last {
			r.gate.stampUpTo(at.last + 1 + rnd.Int64N(at.notAfter-at.last))
		}
		return
	}
	for range 1 + rnd.IntN(3) {
		if !r.gate.stamp() {
			r.Poke()
		}
	}
}

// end stops a process in good order, or lets it crash: then its gate stays open.
func (w *world) end(r *rig, rnd *rand.Rand) {
	w.mu.Lock()
	for i, o := range w.running {
		if o == r {
			w.running = append(w.running[:i], w.running[i+1:]...)
			break
		}
	}
	w.mu.Unlock()
	if rnd.IntN(2) == 0 {
		_ = r.close(context.Background()) // its errors are for other tests
		return
	}
	w.count("crashes")
	_ = r.line.Close() // never fails: from now on it reaches nobody
	w.led.mu.Lock()
	r.gate.zombie = true
	w.led.mu.Unlock()
	if err := r.Stop(context.Background()); err != nil && !errors.Is(err, coord.ErrClosed) &&
		!errors.Is(err, context.DeadlineExceeded) {
		w.t.Errorf("Stop of a process without its back end: %v", err)
	}
	w.mu.Lock()
	w.zombies = append(w.zombies, r.gate)
	w.mu.Unlock()
}

// pause waits for d or the end of ctx, and reports whether it was d.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// chaos lets something go wrong every second or so.
func (w *world) chaos(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(rnd.IntN(2000))*time.Millisecond)
		w.haunt(rnd)
		switch rnd.IntN(12) {
		case 0, 1, 2:
			w.fault(rnd)
		case 3:
			w.fake.Expire(rnd.IntN(simWorkers))
		case 4:
			w.steal(rnd)
		case 5, 6:
			w.step(rnd)
		case 7:
			if rnd.IntN(10) == 0 {
				now := scale.Tick(time.Now().UnixMicro())
				w.led.raiseFloor(now+rnd.Int64N(w.horizon.Milliseconds()*5/3), simWorkers)
			}
		case 8:
			w.cut(rnd)
		case 9:
			if calls := w.fake.Calls(); len(calls) > 0 {
				last := calls[max(len(calls)-60, 0):]
				_, _ = w.fake.Replay(last[rnd.IntN(len(last))]) // nobody waits for the reply
			}
		case 10:
			w.deliver()
		case 11:
			w.fake.Outage(rnd.IntN(10) == 0) // most of the time this ends one
		}
	}
	w.mu.Lock()
	for _, r := range w.running {
		r.line.set(func(l *line) { l.cut, l.slow = false, nil })
	}
	w.mu.Unlock()
	w.deliver()
}

// haunt lets processes that are long gone stamp inside the windows they had.
func (w *world) haunt(rnd *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.zombies {
		if at := g.at(); at.notAfter > at.last {
			g.stampUpTo(at.last + 1 + rnd.Int64N(min(at.notAfter-at.last, 500)))
		}
	}
	if len(w.zombies) > 20 {
		w.zombies = w.zombies[1:]
	}
}

func (w *world) fault(rnd *rand.Rand) {
	op, n := coordtest.Op(rnd.IntN(3)), 1+rnd.IntN(2)
	d := time.Duration(rnd.IntN(8000)) * time.Millisecond
	switch rnd.IntN(6) {
	case 0:
		w.fake.LoseRequests(op, n)
	case 1:
		w.fake.LoseReplies(op, n)
	case 2:
		w.fake.DelayRequests(op, d, n)
	case 3:
		w.fake.DelayReplies(op, d, n)
	case 4:
		w.fake.Fail(op, coordtest.ErrUnreachable, n)
	case 5:
		w.mu.Lock()
		w.held = append(w.held, w.fake.HoldBack(op, n))
		w.mu.Unlock()
	}
}

// deliver lets held requests arrive, the latest first.
func (w *world) deliver() {
	w.mu.Lock()
	held := w.held
	w.held = nil
	w.mu.Unlock()
	for i := len(held) - 1; i >= 0; i-- {
		held[i].Deliver()
	}
}

// steal takes a worker ID away, and gives back the one that was stolen before.
func (w *world) steal(rnd *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.thieves {
		w.fake.Expire(g.WorkerID)
	}
	w.thieves = nil
	if rnd.IntN(3) == 0 {
		w.thieves = append(w.thieves, w.fake.Steal(rnd.IntN(simWorkers)))
		w.stats["thefts"]++
	}
}

// step steps a clock, mostly by a little and back to about the right time.
func (w *world) step(rnd *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.running) == 0 {
		return
	}
	c := w.running[rnd.IntN(len(w.running))].clock
	switch rnd.IntN(4) {
	case 0:
		c.Step(time.Duration(rnd.Int64N(40)-20) * time.Millisecond)
	case 1:
		c.Step(time.Duration(rnd.Int64N(20_000)-10_000) * time.Millisecond)
	case 2:
		c.Step(time.Duration(rnd.Int64N(120_000)-100_000) * time.Millisecond)
	case 3:
		c.Step(time.Since(c.Time()))
	}
}

// cut cuts the line of a process, mends it, or makes it slow.
func (w *world) cut(rnd *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.running) == 0 {
		return
	}
	latency := time.Duration(0)
	if rnd.IntN(3) == 0 {
		latency = time.Duration(rnd.IntN(20_000)) * time.Millisecond
	}
	w.running[rnd.IntN(len(w.running))].line.set(func(l *line) {
		l.cut = rnd.IntN(3) == 0
		l.slow = func(coordtest.Op) time.Duration { return latency }
	})
}
