package worker

import (
	"context"
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

// issuer is one goroutine that issues IDs.
type issuer struct {
	*instance
	from source
	out  *journal.Writer
	told last
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
		n, err := s.from.Fill(ctx, ids)
		if err := s.out.Add(ids[:n]); err != nil {
			return err
		}
		if isClosed(err) {
			return nil
		}
		if s.failed(ctx, err) {
			wait(ctx, retryEvery)
		}
	}
	return nil
}

// paced issues some IDs in each turn: those that are plain numbers in runs and one by one, in
// turns. A turn that was missed is left out: a process that was frozen does not catch up.
func (s *issuer) paced(ctx context.Context) error {
	every, n := s.pace()
	turn := time.NewTicker(every)
	defer turn.Stop()
	ids := make([]core.ID, n)
	for turns := 0; ; turns++ {
		select {
		case <-ctx.Done():
			return nil
		case <-turn.C:
		}
		some := s.oneByOne
		if s.Segment != "" && turns%2 == 0 {
			some = s.from.Fill
		}
		n, err := some(ctx, ids)
		s.failed(ctx, err)
		if err := s.out.Add(ids[:n]); err != nil {
			return err
		}
		if isClosed(err) {
			return nil
		}
	}
}

// oneByOne is Fill with calls of Next.
func (s *issuer) oneByOne(_ context.Context, dst []core.ID) (n int, err error) {
	for ; n < len(dst); n++ {
		if dst[n], err = s.from.Next(); err != nil {
			return n, err
		}
	}
	return n, nil
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
	if ctx.Err() == nil && !isClosed(err) && s.told.isNew(err) {
		s.tell(describe(Failed, s.Name, s.from.Health()), err)
	}
	return err != nil
}
