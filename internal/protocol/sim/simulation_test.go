package sim

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// ledger is what was stamped.
type ledger struct {
	mu    sync.Mutex
	spans [workers][]stamped
}

// stamped is a span (from, to] of ticks, and who has stamped them.
type stamped struct {
	from, to int64
	by       int
}

// stamp takes note of ticks. None is stamped twice.
func (l *ledger) stamp(w *world, by, worker int, from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.spans[worker] {
		if from < s.to && s.from < to {
			safetytest.Of(w.tb).Errorf("worker ID %d: actor %d stamps (%d, %d], of which actor %d has "+
				"stamped (%d, %d]", worker, by, from, to, s.by, s.from, s.to)
		}
	}
	l.spans[worker] = append(l.spans[worker], stamped{from, to, by})
	w.Stamps += to - from
}

// counts are how often something has happened in a run.
type counts struct {
	Stamps   int64 // ticks
	Renewals int64
	Resumed  int64 // windows
	Losses   int64
	Noticed  int64 // losses of which a process has noticed
	Heirs    int64 // of which a successor was told to
	Free     int64 // of which nobody was
	Plots    int64 // that were played to the end
	Long     int64 // windows that are longer than maxHorizon
	Far      int64 // floors by wrong clocks
	Rests    int64 // pieces of lost grants that are used to their end
}

// add adds the counts of another run.
func (c *counts) add(other counts) {
	sum, more := reflect.ValueOf(c).Elem(), reflect.ValueOf(other)
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
}

// result is what a run has come to.
type result struct {
	counts
	trace   uint64
	slowest time.Duration
}

// run makes a run, and returns what it came to.
func run(t *testing.T, seed uint64, steps int) (r result) {
	defer func() {
		if t.Failed() && *seedFlag == 0 {
			t.Logf("seed %d: see it with go test ./internal/protocol/sim -v -run TestSimulation -args "+
				"-sim.seed=%d", seed, seed)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			tb: t, rng: rand.New(rand.NewPCG(seed, 1)), server: memstore.NewServer("lineage 0"),
		}
		w.server.Numbered = true
		if kind := w.rng.IntN(3); kind > 0 { // like etcd, ZooKeeper or Redis
			w.server.Clock, w.server.Strict = rightClock{}.UnixMicro, kind == 2
			w.server.Blind = kind == 1 && w.rng.IntN(2) == 0
		}
		w.lossy = seed%2 == 0
		w.skew = []time.Duration{2 * time.Second, 400 * time.Millisecond}[w.rng.IntN(2)]
		w.share = 2 + w.rng.IntN(workers-1)
		w.declare(seed)
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		for i := range processes {
			p := &process{w: w, id: i, rng: rand.New(rand.NewPCG(seed, uint64(i)+100)), clock: &wrongClock{}}
			w.procs = append(w.procs, p)
			p.begin()
			for j := range each {
				a := &actor{
					w: w, id: i*each + j, rng: rand.New(rand.NewPCG(seed, uint64(i*each+j)+2)), p: p,
					c: p.c,
				}
				w.actors = append(w.actors, a)
				done.Go(func() { a.live(ctx) })
			}
		}
		lossAt := w.rng.IntN(steps)
		if w.server.Clock != nil && w.rng.IntN(2) == 0 { // a plot may lose something before
			lossAt = steps/2 + lossAt/2
			w.delay()
		}
		for i := range steps {
			if w.step(); i == lossAt {
				w.lose(anyBackup, nil)
			}
		}
		if !*busyFlag {
			w.serves()
		}
		synctest.Wait()
		cancel()
		done.Wait()
		for _, p := range w.procs {
			_ = p.c.Close()
		}
		w.Losses = int64(w.history)
		r = result{w.counts, w.trace, w.slowest}
	})
	return r
}

var (
	seedFlag = flag.Uint64("sim.seed", 0, "run this seed alone, and print all that happens")
	fromFlag = flag.Uint64("sim.from", 1, "the first seed")
	manyFlag = flag.Uint64("sim.seeds", 0, "how many runs; 0: as many as there are to be")
	stepFlag = flag.Int("sim.steps", 800, "steps of a run")
	busyFlag = flag.Bool("sim.busy", false, "do not look whether all serve at the end")
)

// someSeeds and allSeeds are how many runs there are, and progress after how many it is
// said how far they are.
const (
	someSeeds = 250
	allSeeds  = 100_000
	progress  = 5000
)

// TestSimulation: whatever happens, no tick of a worker ID is stamped twice.
func TestSimulation(t *testing.T) {
	if *seedFlag != 0 {
		verbose = true
		run(t, *seedFlag, *stepFlag)
		return
	}
	var all result
	//nolint:gosec // neither is negative
	seeds := cmp.Or(*manyFlag, uint64(fulltest.Rounds(someSeeds, allSeeds)))
	for seed := *fromFlag; seed < *fromFlag+seeds && !t.Failed(); seed++ {
		if seed%progress == 0 {
			t.Logf("seed %d; the last one is %d", seed, *fromFlag+seeds-1)
		}
		r := run(t, seed, *stepFlag)
		all.add(r.counts)
		all.slowest = max(all.slowest, r.slowest)
	}
	t.Logf("%+v; all serve after %v at the latest", all.counts, all.slowest)
	if !t.Failed() && min(all.Renewals, all.Resumed, all.Losses, all.Noticed, all.Heirs, all.Free,
		all.Plots, all.Long, all.Rests) == 0 {
		t.Errorf("%+v: nothing was tested", all)
	}
}

// TestSeedRepeats: what a seed has found can be looked at.
func TestSeedRepeats(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		if a, b := run(t, seed, *stepFlag), run(t, seed, *stepFlag); a != b {
			t.Errorf("seed %d: %s and then %s", seed, fmt.Sprint(a), fmt.Sprint(b))
		}
	}
}
