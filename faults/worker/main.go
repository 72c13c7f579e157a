package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// specEnv is the path of the file with the Spec for a process that is to be a worker.
const specEnv = "UNALIKE_FAULTS_WORKER"

// Main runs a worker and ends the process if it was started to be one. Otherwise it does nothing.
// Programs that call Start call Main first of all.
func Main() {
	path, ok := os.LookupEnv(specEnv)
	if !ok {
		return
	}
	if err := run(path); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a worker, seen from inside.
type process struct {
	spec  Spec
	clock clock.Clock // nil: the system's

	mu     sync.Mutex
	shared map[string]coord.Coordinator // by URL and state file
}

// run is a worker until it is asked to end with SIGTERM, or a generator cannot work at all.
func run(path string) error {
	p := process{shared: map[string]coord.Coordinator{}}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &p.spec); err != nil {
		return err
	}
	if p.spec.ClockFile != "" {
		file, err := OpenClock(p.spec.ClockFile)
		if err != nil {
			return err
		}
		p.clock = shiftedClock{clock.System(), file}
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1) // the parent is gone
	}()
	signal.Ignore(syscall.SIGINT) // Ctrl-C reaches all processes; the parent ends this one
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	all, ctx := errgroup.WithContext(ctx)
	for _, g := range p.spec.Generators {
		all.Go(func() error {
			one := instance{process: &p, Generator: g}
			return one.serve(ctx)
		})
	}
	err = all.Wait()
	for _, c := range p.shared {
		err = errors.Join(err, c.Close())
	}
	return err
}
