package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// inspectTime bounds how long a coordinator is asked for the nonce of its namespace.
const inspectTime = 5 * time.Second

// generator is one that is served, with what is known of its namespace.
type generator struct {
	Generator
	name      string
	namespace string // empty: not known
	layout    string
	inspector inspector     // nil: the coordinator has no nonce
	asking    chan struct{} // held while the coordinator is asked for the first time
	known     atomic.Pointer[string]
	state     look[*unalikev1.WatchResponse] // of the generator
	workers   atomic.Pointer[workerList]     // nil: not known
}

// inspector is the part of [coord.Admin] that tells the nonce.
type inspector interface {
	Inspect(ctx context.Context) (coord.Namespace, error)
}

func newGenerator(name string, cfg *Config) *generator {
	g := &generator{
		Generator: cfg.Generators[name], name: name, namespace: cfg.Namespaces[name],
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

// ReadNamespaces asks the coordinators for the nonces of their namespaces, which come with IDs over
// RPC: a namespace that was lost and is made again has another one. Without it they are asked once.
// Call it about once a minute. It blocks until all have answered or ctx ends.
func (s *Server) ReadNamespaces(ctx context.Context) error {
	var errs []error
	for _, g := range s.all {
		if g.inspector == nil {
			continue
		}
		if err := g.ask(ctx, true); err != nil {
			errs = append(errs, fmt.Errorf("generator %s: %w", g.name, err))
		}
	}
	return errors.Join(errs...)
}
