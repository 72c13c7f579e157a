package coretest

import (
	"context"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// forever is a coordinator whose windows never end. Its worker IDs are those of the
// request, in order.
type forever struct {
	mu   sync.Mutex
	next int
}

func (f *forever) Acquire(_ context.Context, req coord.Request) (coord.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == req.Workers.Count {
		return coord.Grant{}, &coord.NoWorkerIDError{
			Namespace: "coretest", Capacity: req.Workers.Count,
			InUse: f.next,
		}
	}
	f.next++
	return coord.Grant{
		WorkerID:   req.Workers.First + f.next - 1,
		Generation: 1,
		Token:      req.Token,
		NotAfter:   req.LastTick,
	}, nil
}

func (f *forever) Renew(_ context.Context, g coord.Grant, _ int64) (coord.Grant, error) {
	return g, nil
}

func (f *forever) Release(context.Context, coord.Grant, int64) error { return nil }

func (f *forever) Close() error { return nil }
