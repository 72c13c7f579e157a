package worker

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// Spec says what a worker process does.
type Spec struct {
	// Dir is the folder for journals and histories. It must exist, and belongs to this process alone.
	Dir string
	// ClockFile is a file of [NewClockFile] that shifts the clock of all generators and coordinators
	// of the process. Empty: they use the system's clock.
	ClockFile string
	// OnePool has all generators use one pool of connections to a database, as those of a program would.
	// Otherwise each has one of its own. Other servers have no pools.
	OnePool bool
	// Generators are started at once.
	Generators []Generator
}

// Generator says how one generator of a worker is set up and how it is used.
type Generator struct {
	Name string // of its events, journals and histories; unique in the process
	URL  string // of its coordinator
	// First and Count are the share of worker IDs. Count 0: all from First on.
	First, Count int
	Stripes      int
	TTL, Horizon time.Duration // 0: the driver's defaults
	Layout       string        // as core.ParseLayout reads it; empty: the default layout
	Lead         time.Duration
	Identity     string
	// PerSecond is how many IDs are issued a second, by all goroutines together, with Next. 0: as many as
	// Fill can get.
	PerSecond  int
	Goroutines int // that issue IDs, each with a journal of its own; 0: 1
	// UntilClosed has SIGTERM close the generator while IDs are issued: its goroutines go on until they are told
	// that it is closed. Otherwise they end first.
	UntilClosed bool
	// Replay is the path of a journal whose IDs are issued once more, without any lease: a planted mistake
	// that the verdict has to find. The URL is not used then.
	Replay string
}

// layout returns the layout of the generator.
func (g *Generator) layout() (core.Layout, error) {
	if g.Layout == "" {
		return core.DefaultLayout(), nil
	}
	return core.ParseLayout(g.Layout)
}

// lease returns the configuration of the generator's lease.
func (g *Generator) lease() coord.LeaseConfig {
	return coord.LeaseConfig{
		TTL: g.TTL, Horizon: g.Horizon, Identity: g.Identity, WorkerIDs: coord.Range{First: g.First, Count: g.Count},
	}
}

// check refuses what cannot be run.
func (s *Spec) check() error {
	if s.Dir == "" {
		return fmt.Errorf("worker: Dir is empty; it must be an existing folder")
	}
	names := map[string]bool{}
	for _, g := range s.Generators {
		switch {
		case g.Name == "":
			return fmt.Errorf("worker: a generator has no Name; give each one of its own")
		case names[g.Name]:
			return fmt.Errorf("worker: two generators have the name %q; give each one of its own", g.Name)
		case g.PerSecond < 0 || g.Goroutines < 0:
			return fmt.Errorf("worker: generator %s has PerSecond %d and Goroutines %d; neither may be negative", g.Name, g.PerSecond, g.Goroutines)
		}
		names[g.Name] = true
		if _, err := g.layout(); err != nil {
			return fmt.Errorf("worker: generator %s: %w", g.Name, err)
		}
	}
	return nil
}
