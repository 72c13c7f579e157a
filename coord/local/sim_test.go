//go:build unix

package local

import (
	"cmp"
	"context"
	"flag"
	mrand "math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// The state files of a run, and the worker IDs: fewer than there are generators.
var files = []string{"state-a", "state-b"}

const workers = 5

var (
	seedFlag = flag.Uint64("sim.seed", 0, "run this seed alone, and print all that happens")
	manyFlag = flag.Uint64("sim.seeds", 0, "how many runs; 0: as many as there are to be")
)

// simulate makes a run.
func simulate(t *testing.T, seed uint64, count map[string]int) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			tb: t, rng: mrand.New(mrand.NewPCG(seed, 7)), server: memstore.NewServer("a"), other: memstore.NewServer("b"), dir: dir,
			change: map[uint64]time.Time{}, kept: map[string]backup{}, spans: map[place][]span{}, count: count,
		}
		if seed%4 == 3 {
			w.drags = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond, 5 * time.Second}[w.rng.IntN(4)]
		}
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		w.wire = map[*memstore.Server]*protocol.Coordinator{w.server: memory(t, w.server), w.other: memory(t, w.other)}
		w.units = []*unit{{id: 0, file: files[0]}, {id: 1, file: files[1]}, {id: 2}, {id: 3, file: files[0]}}
		if seed%3 > 0 {
			w.units = w.units[:3] // else there is a second process on a file
		}
		ctx, cancel := context.WithCancel(context.Background())
		var done sync.WaitGroup
		for _, u := range w.units {
			done.Go(func() { w.run(ctx, u) })
		}
		for n := 0; n < 600 && w.turn(); n++ {
		}
		cancel()
		w.mu.Lock()
		for _, u := range w.units {
			if u.p != nil {
				w.crash(u.p)
			}
		}
		w.mu.Unlock()
		done.Wait()
		time.Sleep(time.Minute) // ghosts
		for _, c := range w.wire {
			_ = c.Close()
		}
		if w.failed || *seedFlag != 0 {
			t.Logf("seed %d:\n%s", seed, strings.Join(w.story, "\n"))
		}
	})
}

// TestSimulation: whatever happens to processes, files, disks, requests and answers, no tick
// of a worker ID is stamped twice.
func TestSimulation(t *testing.T) {
	count := map[string]int{}
	if *seedFlag != 0 {
		simulate(t, *seedFlag, count)
		return
	}
	seeds := cmp.Or(*manyFlag, uint64(fulltest.Rounds(100, 3000))) //nolint:gosec // none is negative
	for seed := uint64(1); seed <= seeds && !t.Failed(); seed++ {
		simulate(t, seed, count)
	}
	t.Log(count)
	for _, what := range []string{"stamps", "acquire", "renew", "piece", "ghosts", "hangs", "reboots", "tampered"} {
		if count[what] == 0 && !t.Failed() {
			t.Errorf("nothing was counted of: %s", what)
		}
	}
}
