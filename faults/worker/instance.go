package worker

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
		g.tell(describe(Closed, g.Name, from.Health()), err)
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
			wait(issuing, afterClose)
			stop()
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
		g.tell(Event{Kind: Failed, Generator: g.Name}, err)
		return nil, err
	}
	var told last
	for ctx.Err() == nil {
		from, err := open(ctx)
		if err == nil {
			g.tell(describe(Ready, g.Name, from.Health()), nil)
			return from, nil
		}
		if told.isNew(err) && ctx.Err() == nil {
			g.tell(Event{Kind: Failed, Generator: g.Name}, err)
		}
		wait(ctx, startEvery)
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
			Layout: g.Layout, Clock: g.clock, Lead: g.Lead, Stripes: g.Stripes, Lease: g.lease(),
			StartTimeout: cmp.Or(g.StartTime, startPatience),
			OnChange:     func(h core.Health) { g.tell(describe(Change, g.Name, h), h.Err) },
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
			s := issuer{instance: g, from: from, out: out}
			return s.issue(ctx)
		})
	}
	return all.Wait()
}

// wait waits for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
