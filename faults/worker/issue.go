package worker

import (
	"context"
	"errors"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

const (
	// fillSize is how many IDs Fill is asked for: a tick of the default layout.
	fillSize = 4096
	// paceEvery is the shortest interval between two turns of a goroutine that keeps a pace: a tick
	// of the default layout, so that two generators with the same worker ID meet in ticks.
	paceEvery = time.Millisecond
	// retryEvery is how often a call is tried again that has failed.
	retryEvery = 5 * time.Millisecond
)

// source is where IDs come from: a generator, or a client of servers.
type source interface {
	Next() (core.ID, error)
	Fill(ctx context.Context, dst []core.ID) (int, error)
}

// issuer is one goroutine that issues IDs.
type issuer struct {
	*instance
	gen    source
	health func() core.Health
	out    *journal.Writer
	told   last
}

// issue issues IDs until ctx ends, or the generator is closed. Its error is that of the journal.
func (s *issuer) issue(ctx context.Context) error {
	if s.PerSecond == 0 {
		return s.fast(ctx)
	}
	return s.paced(ctx)
}

// fast issues as many IDs as it can get.
func (s *issuer) fast(ctx context.Context) error {
	ids := make([]core.ID, fillSize)
	for ctx.Err() == nil {
		n, err := s.gen.Fill(ctx, ids)
		if err := s.out.Add(ids[:n]); err != nil {
			return err
		}
		if errors.Is(err, core.ErrClosed) {
			return nil
		}
		if s.failed(ctx, err) {
			wait(ctx, retryEvery)
		}
	}
	return nil
}

// paced issues some IDs in each turn. A turn that was missed is left out: a process that was frozen
// does not catch up.
func (s *issuer) paced(ctx context.Context) error {
	every, n := s.pace()
	turn := time.NewTicker(every)
	defer turn.Stop()
	ids := make([]core.ID, 0, n)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-turn.C:
		}
		ids = ids[:0]
		var err error
		for len(ids) < n {
			var id core.ID
			if id, err = s.gen.Next(); s.failed(ctx, err) {
				break
			}
			ids = append(ids, id)
		}
		if err := s.out.Add(ids); err != nil {
			return err
		}
		if errors.Is(err, core.ErrClosed) {
			return nil
		}
	}
}

// pace returns how many IDs each goroutine issues and how often.
func (g *instance) pace() (every time.Duration, n int) {
	goroutines := max(g.Goroutines, 1)
	every = time.Second * time.Duration(goroutines) / time.Duration(g.PerSecond)
	if every >= paceEvery {
		return every, 1
	}
	turns := int(time.Second / paceEvery)
	return paceEvery, (g.PerSecond + goroutines*turns - 1) / (goroutines * turns)
}

// failed tells of the first of several failures with the same cause, and reports whether err is
// one.
func (s *issuer) failed(ctx context.Context, err error) bool {
	if ctx.Err() == nil && !errors.Is(err, core.ErrClosed) && s.told.isNew(err) {
		s.tell(describe(Failed, s.Name, s.health()), err)
	}
	return err != nil
}
