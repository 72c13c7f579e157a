package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

const (
	journalSuffix = ".journal"

	// startEvery is how often a generator is tried to be started.
	startEvery = 50 * time.Millisecond
	// startPatience is the usual Patience of a generator.
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
	unique   string // its name among those of all processes
	layout   core.Layout
	journals []*journal.Writer
}

// serve starts the generator and issues IDs until ctx ends. It returns an error if that cannot
// work, however often it is tried, or if a journal cannot be written.
func (g *instance) serve(ctx context.Context) (err error) {
	g.unique = g.Name + "." + rand.Text()[:8]
	if g.layout, err = g.Generator.layout(); err != nil {
		return err
	}
	if err := g.createJournals(); err != nil {
		return err
	}
	defer g.closeJournals()
	if g.Segment != "" {
		return g.serveNumbers(ctx)
	}
	if len(g.Servers) > 0 {
		return g.serveFromServers(ctx)
	}
	c, err := g.coordinator(ctx)
	if err != nil {
		g.tell(Event{Kind: Failed, Generator: g.Name}, err)
		return err
	}
	gen := g.start(ctx, c)
	if gen == nil {
		return c.Close()
	}
	closeGenerator := sync.OnceFunc(func() {
		closing, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err := gen.Close(closing)
		g.tell(describe(Closed, g.Name, gen.Health()), err)
	})
	if g.Listen != "" {
		err = g.listen(ctx, gen)
		closeGenerator()
		return errors.Join(err, c.Close())
	}
	issuing := ctx
	if g.UntilClosed {
		var stop context.CancelFunc
		issuing, stop = context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		context.AfterFunc(ctx, func() {
			closeGenerator()
			wait(issuing, afterClose)
			stop()
		})
	}
	err = g.issueAll(issuing, gen)
	closeGenerator()
	if closeErr := c.Close(); err == nil {
		err = closeErr
	}
	return err
}

// start starts the generator, as often as it takes, and tells why it has to be tried again. It
// returns nil if ctx ends first.
func (g *instance) start(ctx context.Context, c coord.Coordinator) *core.Generator {
	var told last
	for ctx.Err() == nil {
		gen, err := core.New(ctx, c, core.Config{
			Layout: g.layout, Clock: g.clock, Lead: g.Lead, Stripes: g.Stripes, Lease: g.lease(),
			StartTimeout: cmp.Or(g.StartTime, startPatience),
			OnChange:     func(h core.Health) { g.tell(describe(Change, g.Name, h), h.Err) },
		})
		if err == nil {
			g.tell(describe(Ready, g.Name, gen.Health()), nil)
			return gen
		}
		if told.isNew(err) && ctx.Err() == nil {
			g.tell(Event{Kind: Failed, Generator: g.Name}, err)
		}
		wait(ctx, startEvery)
	}
	return nil
}

// issueAll issues IDs with all goroutines until ctx ends.
func (g *instance) issueAll(ctx context.Context, gen *core.Generator) error {
	return g.issueWith(ctx, func(ctx context.Context, out *journal.Writer) error {
		s := issuer{instance: g, gen: gen, health: gen.Health, out: out}
		return s.issue(ctx)
	})
}

// issueWith runs a goroutine for each journal, and ends all of them when one has an error.
func (g *instance) issueWith(ctx context.Context,
	issue func(context.Context, *journal.Writer) error,
) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	errs := make([]error, len(g.journals))
	var all sync.WaitGroup
	for i, w := range g.journals {
		all.Go(func() {
			if errs[i] = issue(ctx, w); errs[i] != nil {
				fail(errs[i])
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// createJournals makes a journal for each goroutine.
func (g *instance) createJournals() error {
	for i := range g.Generator.journals() {
		path := filepath.Join(g.spec.Dir, fmt.Sprintf("%s.%d%s", g.unique, i, journalSuffix))
		w, err := journal.Create(path, journal.Header{
			Generator: g.unique, Layout: g.layout,
			Numbers: g.Segment != "",
		})
		if err != nil {
			return err
		}
		g.journals = append(g.journals, w)
	}
	return nil
}

// closeJournals closes the journals. What could not be written was an error before.
func (g *instance) closeJournals() {
	for _, w := range g.journals {
		_ = w.Close()
	}
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
