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
func TestSimulation(t *testing.T) { simulateAll(t, false) }

// TestSimulation_Files is TestSimulation for processes with state files, which start again often,
// on disks that fail, hang, and complete writes of dead processes late. It holds them to the
// invariants of docs/guarantees.md for state files as well.
func TestSimulation_Files(t *testing.T) { simulateAll(t, true) }

func simulateAll(t *testing.T, files bool) {
	seeds := uint64(3)
	if s := os.Getenv("UNALIKE_SEEDS"); s != "" {
		var err error
		if seeds, err = strconv.ParseUint(s, 10, 32); err != nil {
			t.Fatalf("UNALIKE_SEEDS is how many seeds to try: %v", err)
		}
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) { simulate(t, seed, time.Hour, files) })
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

func simulate(t *testing.T, seed uint64, d time.Duration, files bool) {
	t.Helper()
	f := coordtest.NewFake(coordtest.FakeConfig{Workers: simWorkers})
	w := &world{t: t, fake: f, led: newLedger(t, f), stats: map[string]int{}, horizon: horizon}
	if seed%3 == 2 { // a namespace that was declared with a long one
		w.horizon = longHorizon
		if files { // whose processes start again far more often
			w.horizon = 2 * time.Minute
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var all sync.WaitGroup
	for i := range uint64(simProcesses) {
		all.Go(func() {
			p := simProcess{world: w, rnd: rand.New(rand.NewPCG(seed, i))}
			if files {
				p.disk = faultyDisk(rand.New(rand.NewPCG(seed, 1000+i)))
			}
			p.run(ctx)
		})
	}
	w.chaos(ctx, rand.New(rand.NewPCG(seed, 99)))
	f.Recover()
	all.Wait()
	time.Sleep(2 * time.Minute) // until writes that hung have ended
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
	w.stats["resumes"] = f.Count(coordtest.Resume)
	t.Logf("%d terms, %d ticks stamped, %v", len(w.led.terms), len(w.led.stamps), w.stats)
	// A simulation in which nothing happened proves nothing.
	stamps, terms, heals, resumes, offline := 5000, 100, 10, 50, 5
	if w.horizon > horizon { // a holder waits longer for the end of the window before its own
		stamps, terms, heals, resumes, offline = 400, 50, 3, 5, 0
	}
	if len(w.led.stamps) < stamps || len(w.led.terms) < terms || len(w.led.gaps) == 0 ||
		w.stats["heals"] < heals || w.stats["crashes"] < 3 ||
		files && (w.stats["resumes"] < resumes || w.stats["offline starts"] < offline) {
		t.Error("too little happened")
	}
}

// simProcess is one process, again and again.
type simProcess struct {
	*world
	rnd  *rand.Rand
	disk *disk // nil: it has no state file
	file *access
	// gates are those of the processes of which the disk has marks, as of a lineage.
	gates []*gate
	chain int
	token string // of the first grant of the last process
}

// run runs one process after the other.
func (p *simProcess) run(ctx context.Context) {
	for ctx.Err() == nil {
		r, steps := p.next(), 200+p.rnd.IntN(2000)
		if p.disk != nil {
			steps = 10 + p.rnd.IntN(400)
		}
		r.stopped = true // not by the test's end, but by end below
		r.clock.Step(time.Duration(p.rnd.Int64N(2000)-1000) * time.Millisecond)
		short, cancel := context.WithTimeout(ctx, time.Duration(1+p.rnd.IntN(15))*time.Second)
		err := r.Start(short)
		cancel()
		if err != nil {
			if p.file != nil {
				p.file.kill()
			}
			p.count("failed starts")
			pause(ctx, time.Second)
			continue
		}
		if token := r.gate.at().Grant.Token; token != "" && token == p.token {
			p.count("offline starts")
		} else {
			p.token = token
		}
		p.mu.Lock()
		p.running = append(p.running, r)
		p.mu.Unlock()
		for ; steps > 0 && ctx.Err() == nil; steps-- {
			pause(ctx, time.Duration(1+p.rnd.IntN(400))*time.Millisecond)
			p.issue(r, p.rnd)
		}
		p.end(r)
		pause(ctx, time.Duration(p.rnd.IntN(5000))*time.Millisecond)
	}
}

// next makes the next process.
func (p *simProcess) next() *rig {
	edit := []func(*keeper.Config){lease(ttl, p.horizon), func(c *keeper.Config) { c.Logger = nil }}
	if p.disk == nil {
		return join(p.t, p.fake, p.led, edit...)
	}
	r, file := p.disk.join(p.t, p.fake, p.led, edit...)
	r.line.set(func(l *line) {
		l.acquired = func(g coord.Grant, err error) (coord.Grant, error) {
			if err == nil && g.Generation%3 == 0 {
				g.NotBefore = p.forgotten(g)
			}
			return g, err
		}
	})
	p.file = file
	p.led.mu.Lock()
	defer p.led.mu.Unlock()
	p.gates = append(p.gates, r.gate)
	return r
}

// forgotten returns where the window of a new grant begins if the back end has forgotten the last
// one of its worker ID, which was that of this process.
func (p *simProcess) forgotten(g coord.Grant) int64 {
	now := p.disk.lineage()
	p.led.mu.Lock()
	defer p.led.mu.Unlock()
	if now != p.chain {
		p.chain, p.gates = now, p.gates[len(p.gates)-1:]
	}
	begins := g.NotBefore
	for _, gate := range p.gates {
		for _, t := range gate.mine {
			if t.Grant.WorkerID == g.WorkerID && t.Grant.Generation == g.Generation-1 {
				begins = min(begins, t.Grant.NotBefore)
			}
		}
	}
	for _, gap := range p.led.gaps[g.WorkerID] {
		begins = max(begins, min(gap.to, g.NotBefore))
	}
	if begins < g.NotBefore {
		p.count("forgotten windows")
	}
	return begins
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
func (p *simProcess) end(r *rig) {
	p.mu.Lock()
	for i, o := range p.running {
		if o == r {
			p.running = append(p.running[:i], p.running[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	if p.rnd.IntN(2) == 0 {
		_ = r.close(context.Background()) // its errors are for other tests
		if p.file != nil {
			p.file.kill() // a disk that hangs still keeps the file locked
		}
		return
	}
	p.count("crashes")
	if err := r.crash(p.file); err != nil && !errors.Is(err, coord.ErrClosed) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errDisk) {
		p.t.Errorf("Stop of a process without its back end: %v", err)
	}
	p.mu.Lock()
	p.zombies = append(p.zombies, r.gate)
	p.mu.Unlock()
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
	op, n := coordtest.Op(rnd.IntN(4)), 1+rnd.IntN(2)
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
