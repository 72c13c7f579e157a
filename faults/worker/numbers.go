package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/segment"
	_ "github.com/unalike-id/unalike/segment/etcd"          // etcd://
	_ "github.com/unalike-id/unalike/segment/etcd/embedded" // embed://
	_ "github.com/unalike-id/unalike/segment/mysql"         // mysql://
	_ "github.com/unalike-id/unalike/segment/postgres"      // postgres://
)

// serveNumbers takes numbers of a segment until ctx ends, closes the sequence while they are taken,
// and goes on until all goroutines are told that it is closed.
func (g *instance) serveNumbers(ctx context.Context) error {
	store, s := g.startSequence(ctx)
	if s == nil {
		return nil
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var closing sync.WaitGroup
	closing.Go(func() {
		<-ctx.Done()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err := s.Close(limited)
		g.tell(Event{Kind: Closed, Generator: g.Name, Issued: s.Health().Issued}, err)
	})
	err := g.issueWith(context.WithoutCancel(ctx),
		func(ctx context.Context, out *journal.Writer) error {
			n := numberer{instance: g, s: s, out: out}
			return n.issue(ctx)
		})
	end()
	closing.Wait()
	return errors.Join(err, store.Close())
}

// startSequence opens the store and makes a sequence, as often as it takes. It returns nil if ctx
// ends first.
func (g *instance) startSequence(ctx context.Context) (segment.Store, *segment.Sequence) {
	var told last
	for ctx.Err() == nil {
		opening, cancel := context.WithTimeout(ctx, closeTime)
		store, s, err := g.openSequence(opening)
		cancel()
		if err == nil {
			g.tell(Event{Kind: Ready, Generator: g.Name, Healthy: true}, nil)
			return store, s
		}
		if told.isNew(err) && ctx.Err() == nil {
			g.tell(Event{Kind: Failed, Generator: g.Name}, err)
		}
		wait(ctx, startEvery)
	}
	return nil, nil
}

// openSequence is one attempt.
func (g *instance) openSequence(ctx context.Context) (segment.Store, *segment.Sequence, error) {
	log := slog.New(slog.DiscardHandler)
	store, err := segment.Open(ctx, g.URL, segment.OpenOptions{Logger: log})
	if err != nil {
		return nil, nil, err
	}
	s, err := segment.New(ctx, store, g.Segment, segment.Config{MaxStep: g.MaxStep, Logger: log})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, s, nil
}

// numberer is one goroutine that takes numbers.
type numberer struct {
	*instance
	s    *segment.Sequence
	out  *journal.Writer
	told last
}

// issue takes some numbers in each turn, in runs and one by one, until the sequence is closed. Its
// error is that of the journal.
func (n *numberer) issue(ctx context.Context) error {
	every, many := n.pace()
	turn := time.NewTicker(every)
	defer turn.Stop()
	numbers, ids := make([]int64, many), make([]core.ID, many)
	for turns := 0; ; turns++ {
		got, err := n.some(ctx, numbers, turns%2 == 0)
		for i, v := range numbers[:got] {
			ids[i] = core.ID(v)
		}
		if err := n.out.Add(ids[:got]); err != nil {
			return err
		}
		switch {
		case errors.Is(err, segment.ErrClosed), ctx.Err() != nil:
			return nil
		case n.told.isNew(err):
			n.tell(Event{Kind: Failed, Generator: n.Name, Issued: n.s.Health().Issued}, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-turn.C:
		}
	}
}

// some takes numbers with Fill or with Next.
func (n *numberer) some(ctx context.Context, dst []int64, run bool) (got int, err error) {
	if run {
		ctx, cancel := context.WithTimeout(ctx, closeTime)
		defer cancel()
		return n.s.Fill(ctx, dst)
	}
	for ; got < len(dst); got++ {
		if dst[got], err = n.s.Next(); err != nil {
			return got, err
		}
	}
	return got, nil
}
