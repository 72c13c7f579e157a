package worker

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

const (
	// startEvery is how often a generator is tried to be started.
	startEvery = 50 * time.Millisecond
	// startPatience is the usual StartTime of a generator.
	startPatience = time.Second
	// closeTime bounds closing a generator.
	closeTime = 5 * time.Second
	// afterClose is how long IDs are asked for after a generator was closed, which is to refuse all
	// of them: so long that a mistake shows.
	afterClose = time.Second
)

// instance is one generator of one process.
type instance struct {
	*process
	Generator
}

// serve starts the generator and issues IDs until ctx ends. It returns an error if that cannot
// work, however often it is tried, or if a journal cannot be written.
func (g *instance) serve(ctx context.Context) error {
	from, err := g.start(ctx)
	if from == nil {
		return err
	}
	closeSource := sync.OnceFunc(func() {
		closing, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err := from.Close(closing)
		g.tell(Closed, from.Health(), err)
	})
	defer closeSource()
	if g.Listen != "" {
		return g.listen(ctx, from.(*core.Generator))
	}
	if g.UntilClosed {
		issuing, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		context.AfterFunc(ctx, func() {
			closeSource()
			time.AfterFunc(afterClose, stop)
		})
		ctx = issuing
	}
	return g.issueAll(ctx, from)
}

// start starts the generator, as often as it takes, and tells why it has to be tried again. It
// returns nil if ctx ends first.
func (g *instance) start(ctx context.Context) (source, error) {
	open, err := g.opener(ctx)
	if err != nil {
		g.tell(Failed, core.Health{}, err)
		return nil, err
	}
	for before := error(nil); ctx.Err() == nil; {
		from, err := open(ctx)
		if err == nil {
			g.tell(Ready, from.Health(), nil)
			return from, nil
		}
		if isNew(err, before) && ctx.Err() == nil {
			g.tell(Failed, core.Health{}, err)
		}
		before = err
		select {
		case <-time.After(startEvery):
		case <-ctx.Done():
		}
	}
	return nil, nil
}

// opener returns what one attempt is to start the generator.
func (g *instance) opener(ctx context.Context) (func(context.Context) (source, error), error) {
	switch {
	case g.Segment != "":
		return g.openNumbers, nil
	case len(g.Servers) > 0:
		return g.openRemote, nil
	}
	c, err := g.coordinator(ctx)
	return func(ctx context.Context) (source, error) {
		return core.New(ctx, c, core.Config{
			StateFile: g.State,
			Layout:    g.Layout, Clock: g.clock, Lead: g.Lead, Stripes: g.Stripes,
			Lease: coord.LeaseConfig{
				TTL: g.TTL, Horizon: g.Horizon, Identity: g.Identity,
				WorkerIDs: coord.Range{First: g.First, Count: g.Count},
			},
			StartTimeout: cmp.Or(g.StartTime, startPatience),
			OnChange:     func(h core.Health) { g.tell(Change, h, h.Err) },
		})
	}, err
}

// issueAll issues IDs with several goroutines until ctx ends, and ends all of them when one has an
// error.
func (g *instance) issueAll(ctx context.Context, from source) error {
	all, ctx := errgroup.WithContext(ctx)
	for i := range max(g.Goroutines, 1) {
		all.Go(func() error {
			name := fmt.Sprintf("%s.%d%s", g.Name, i, journalSuffix)
			out, err := journal.Create(filepath.Join(g.spec.Dir, name))
			if err != nil {
				return err
			}
			defer out.Close()
			return g.issue(ctx, from, out)
		})
	}
	return all.Wait()
}
