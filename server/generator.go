package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// inspectTime bounds how long a coordinator is asked for the nonce of its namespace.
const inspectTime = 5 * time.Second

// generator is one that is served, with what is known of its namespace.
type generator struct {
	source
	name      string
	namespace string // empty: not known
	layout    string
	inspector inspector     // nil: the coordinator has no nonce
	asking    chan struct{} // held while the coordinator is asked for the first time
	known     atomic.Pointer[string]
	state     look[*unalikev1.WatchResponse] // of the generator
	workers   atomic.Pointer[workerList]     // nil: not known
}

// source is the part of a [core.Generator] that is used.
type source interface {
	Next() (core.ID, error)
	Fill(ctx context.Context, dst []core.ID) (n int, err error)
	Check() error
	Ready(ctx context.Context) error
	Health() core.Health
	Layout() core.Layout
	WorkerIDs() coord.Range
	Coordinator() coord.Coordinator
}

// inspector is the part of [coord.AdminCoordinator] that returns the nonce of a namespace. It comes
// with IDs over RPC: clients that are given several servers refuse those whose layouts or nonces
// differ.
type inspector interface {
	Inspect(ctx context.Context) (coord.Namespace, error)
}

// lister is the part of [coord.AdminCoordinator] that returns who holds which worker ID.
type lister interface {
	List(ctx context.Context) ([]coord.Slot, error)
}

func newGenerator(name string, cfg *Config) *generator {
	g := &generator{
		source: cfg.Generators[name], name: name, namespace: cfg.Namespaces[name],
		asking: make(chan struct{}, 1),
	}
	g.layout = g.Layout().String()
	g.state.at = func() *unalikev1.WatchResponse { return stateOf(g) }
	g.inspector, _ = g.Coordinator().(inspector)
	return g
}

// nonce returns the nonce of the namespace, which the coordinator is asked for the first time. It
// is empty if the coordinator has none.
func (g *generator) nonce(ctx context.Context) (string, error) {
	if g.inspector == nil {
		return "", nil
	}
	if g.known.Load() == nil {
		if err := g.ask(ctx, false); err != nil {
			p := later("the namespace cannot be read from its coordinator")
			return "", fmt.Errorf("%w: %w", p, err)
		}
	}
	return *g.known.Load(), nil
}

// ask asks the coordinator. Those who ask for the first time come one at a time, as the answer of
// one will do for the others; whoever asks again does not keep them waiting.
func (g *generator) ask(ctx context.Context, again bool) error {
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	if !again {
		select {
		case g.asking <- struct{}{}:
			defer func() { <-g.asking }()
		case <-ctx.Done():
			return ctx.Err()
		}
		if g.known.Load() != nil {
			return nil
		}
	}
	n, err := g.inspector.Inspect(ctx)
	switch {
	case err != nil:
		return err
	case n.Layout == "":
		return errors.New("there is no such namespace")
	}
	g.known.Store(&n.Nonce)
	return nil
}
