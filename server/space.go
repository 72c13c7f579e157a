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

// space is the namespace of a generator, as callers see it who compare servers.
type space struct {
	layout    string
	inspector inspector     // nil: the coordinator has no nonce
	asking    chan struct{} // held while the coordinator is asked
	known     atomic.Pointer[string]
	state     look[*unalikev1.WatchResponse] // of the generator
	workers   atomic.Pointer[workerList]     // nil: not known
}

// inspector is the part of [coord.Admin] that tells the nonce.
type inspector interface {
	Inspect(ctx context.Context) (coord.Namespace, error)
}

func newSpace(g Generator) *space {
	sp := &space{layout: g.Layout().String(), asking: make(chan struct{}, 1)}
	sp.state.at = func() *unalikev1.WatchResponse { return stateOf(g) }
	sp.inspector, _ = g.Coordinator().(inspector)
	return sp
}

// nonce returns the nonce of the namespace, which the coordinator is asked for the first time. It
// is empty if the coordinator has none.
func (sp *space) nonce(ctx context.Context) (string, error) {
	if sp.inspector == nil {
		return "", nil
	}
	if sp.known.Load() == nil {
		if err := sp.ask(ctx, false); err != nil {
			p := later("the namespace cannot be read from its coordinator")
			return "", fmt.Errorf("%w: %w", p, err)
		}
	}
	return *sp.known.Load(), nil
}

// ask asks the coordinator, for one caller at a time: for the others its answer will do, unless
// they ask again.
func (sp *space) ask(ctx context.Context, again bool) error {
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	select {
	case sp.asking <- struct{}{}:
		defer func() { <-sp.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !again && sp.known.Load() != nil {
		return nil
	}
	n, err := sp.inspector.Inspect(ctx)
	switch {
	case err != nil:
		return err
	case n.Layout == "":
		return errors.New("there is no such namespace")
	}
	sp.known.Store(&n.Nonce)
	return nil
}

// ReadNamespaces asks the coordinators for the nonces of their namespaces, which come with IDs over
// RPC: a namespace that was lost and is made again has another one. Without it they are asked once.
// Call it about once a minute. It blocks until all have answered or ctx ends.
func (s *Server) ReadNamespaces(ctx context.Context) error {
	var errs []error
	for _, name := range s.known {
		sp := s.spaces[name]
		if sp.inspector == nil {
			continue
		}
		if err := sp.ask(ctx, true); err != nil {
			errs = append(errs, fmt.Errorf("generator %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
