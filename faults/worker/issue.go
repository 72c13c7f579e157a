package worker

import (
	"cmp"
	"context"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

const (
	// fillSize is how many IDs Fill is asked for at full speed: a tick of the default layout.
	fillSize = 4096
	// paceEvery is the shortest interval between two turns of a goroutine that keeps a pace: a tick
	// of the default layout, so that two generators with the same worker ID meet in ticks.
	paceEvery = time.Millisecond
	// retryEvery is how often a call at full speed is tried again that has failed.
	retryEvery = 5 * time.Millisecond
)

// issue issues IDs until ctx ends, or the generator is closed, some in each turn: as many as it can
// get at full speed; at a pace, those that are plain numbers in runs and one by one, in turns. A
// turn that was missed is left out: a process that was frozen does not catch up. Its error is that
// of the journal.
func (g *instance) issue(ctx context.Context, from source, out *journal.Writer) error {
	every, size := g.pace()
	turn := time.NewTicker(cmp.Or(every, retryEvery))
	defer turn.Stop()
	ids, single := make([]core.ID, size), source(oneByOne{from})
	var before error
	for turns := 0; ctx.Err() == nil; turns++ {
		some := single
		if every == 0 || g.Segment != "" && turns%2 == 0 {
			some = from
		}
		n, failed := some.Fill(ctx, ids)
		if err := out.Add(ids[:n]); err != nil {
			return err
		}
		if isClosed(failed) {
			return nil
		}
		if isNew(failed, before) && ctx.Err() == nil {
			g.tell(Failed, from.Health(), failed)
		}
		before = failed
		if every == 0 && failed == nil {
			continue
		}
		select {
		case <-turn.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// oneByOne is a source whose Fill calls Next.
type oneByOne struct{ source }

// Fill implements source.
func (s oneByOne) Fill(_ context.Context, dst []core.ID) (n int, err error) {
	for ; n < len(dst); n++ {
		if dst[n], err = s.Next(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// pace returns how often each goroutine issues IDs, 0: at full speed, and how many at a time.
func (g *instance) pace() (every time.Duration, n int) {
	if g.PerSecond == 0 {
		return 0, fillSize
	}
	perSecond := time.Duration(g.PerSecond)
	share := time.Second * time.Duration(max(g.Goroutines, 1))
	every = max(share/perSecond, paceEvery)
	return every, int((every*perSecond + share - 1) / share)
}
