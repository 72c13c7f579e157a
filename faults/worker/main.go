package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// specEnv carries the Spec to a process that is to be a worker.
const specEnv = "UNALIKE_FAULTS_WORKER"

// Main runs a worker and ends the process if it was started to be one. Otherwise it does nothing.
// Programs that call Start call Main first of all.
func Main() {
	raw, ok := os.LookupEnv(specEnv)
	if !ok {
		return
	}
	if err := run(raw); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a worker, seen from inside.
type process struct {
	spec  Spec
	clock clock.Clock // nil: the system's
	*events

	mu     sync.Mutex
	shared map[string]coord.Coordinator // by URL, of a process with OnePool
}

// run is a worker until it is asked to end with SIGTERM, or a generator cannot work at all.
func run(raw string) error {
	goredis.SetLogger(mute{}) // the client prints what it returns as well
	p := process{events: &events{out: os.Stdout}, shared: map[string]coord.Coordinator{}}
	if err := json.Unmarshal([]byte(raw), &p.spec); err != nil {
		return err
	}
	if err := p.spec.check(); err != nil {
		return err
	}
	if p.spec.ClockFile != "" {
		file, err := openClock(p.spec.ClockFile)
		if err != nil {
			return err
		}
		p.clock = shiftedClock{clock.System(), file}
	}
	signal.Ignore(syscall.SIGINT) // Ctrl-C reaches all processes; the parent ends this one
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	p.tell(Event{Kind: Started}, nil)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	errs := make([]error, len(p.spec.Generators))
	var all sync.WaitGroup
	for i := range p.spec.Generators {
		all.Go(func() {
			g := instance{process: &p, Generator: p.spec.Generators[i]}
			if errs[i] = g.serve(ctx); errs[i] != nil {
				fail(errs[i])
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// mute is a logger that logs nothing.
type mute struct{}

// Printf does nothing.
func (mute) Printf(context.Context, string, ...any) {}
