package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// listEvery is the time between two readings of a namespace, and listSoon while its generator is
	// not ready or the last reading failed.
	listEvery = time.Minute
	listSoon  = 5 * time.Second
	// storeEvery is the time between two attempts to open the store of the tags.
	storeEvery = time.Second
	// reloadEvery is the time between two readings of the files of tokens.
	reloadEvery = 2 * time.Second
	// closeTime bounds how long unused numbers may take to be given back to the store.
	closeTime = 5 * time.Second
)

// Run does the server's periodic work until ctx ends. It opens the tags and closes them at the end,
// reads files of tokens again every 2 s, reads the namespace of each generator once a minute, and
// takes a sample for the page once a second. Call it once; the server answers requests for IDs
// without it as well. End ctx when no more requests come.
func (s *Server) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, g := range s.all {
		all.Go(func() { s.readNamespaces(ctx, g) })
	}
	if s.tokens != nil {
		all.Go(func() {
			for lifetime.Sleep(ctx, reloadEvery) {
				_ = s.reload(false) // the log has the error
			}
		})
	}
	if s.cfg.Numbers != nil {
		all.Go(func() { s.keepNumbers(ctx) })
	}
	for lifetime.Sleep(ctx, sampleEvery) {
		s.facts()
	}
	all.Wait()
}

// readNamespaces reads the namespace of a generator until ctx ends.
func (s *Server) readNamespaces(ctx context.Context, g *generator) {
	for ctx.Err() == nil {
		ready := g.Check() == nil
		err := s.readNamespace(ctx, g)
		switch {
		case !ready: // other holders may be the reason, and then its own worker ID is new
			soon, cancel := context.WithTimeout(ctx, listSoon)
			_ = g.Ready(soon)
			cancel()
		case err != nil:
			lifetime.Sleep(ctx, listSoon)
		default:
			lifetime.Sleep(ctx, listEvery)
		}
	}
}

// readNamespace reads the nonce of a generator's namespace, which comes with IDs over RPC, and who
// holds its worker IDs. A namespace that was lost and is made again has another nonce.
func (s *Server) readNamespace(ctx context.Context, g *generator) error {
	var errs []error
	if g.inspector != nil {
		errs = append(errs, g.ask(ctx, true))
	}
	if admin, ok := g.Coordinator().(lister); ok {
		bounded, cancel := context.WithTimeout(ctx, inspectTime)
		slots, err := admin.List(bounded)
		cancel()
		if errs = append(errs, err); err == nil {
			s.showWorkerIDs(g, slots)
		}
	}
	return errors.Join(errs...)
}

// showWorkerIDs shows on the page and in metrics who holds which worker ID.
func (s *Server) showWorkerIDs(g *generator, slots []coord.Slot) {
	now := time.Now() //nolint:forbidigo // the page has the machine's time
	share := g.WorkerIDs()
	counts := countSlots(slots, share, now)
	g.workers.Store(newWorkerList(slots, counts["free"], share.Count, now))
	if s.cfg.Meter != nil {
		s.cfg.Meter.WorkerIDs(g.name, counts)
	}
}

// countSlots counts the worker IDs of a share by their state.
func countSlots(slots []coord.Slot, share coord.Range, now time.Time) map[string]int {
	n := map[string]int{"held": 0, "retired": 0, "opens_later": 0, "free": share.Count}
	for _, slot := range slots {
		state := slot.State.String()
		switch {
		case slot.WorkerID < share.First || slot.WorkerID-share.First >= share.Count:
			continue
		case slot.State == coord.SlotFree && slot.Until.After(now):
			state = "opens_later"
		case slot.State == coord.SlotFree:
			continue
		}
		n[state]++
		n["free"]--
	}
	return n
}

// keepNumbers opens the tags, retries until that succeeds, and closes them when ctx ends. No error
// of a store ends the server, whose generators may be well.
func (s *Server) keepNumbers(ctx context.Context) {
	logged := "" // the last reason
	for {
		set, err := s.cfg.Numbers(ctx)
		if err == nil && drivers.IsNil(set) {
			err = errors.New("Config.Numbers has returned nil")
		}
		if err == nil {
			s.store.Store(&store{Numbers: set})
			<-ctx.Done()
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
			defer cancel()
			if err := set.Close(end); err != nil {
				s.log.Warn("closing the tags failed", "error", err)
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.store.Store(&store{err: fmt.Errorf("%w: %w", errNotOpen, err)})
		if reason := err.Error(); reason != logged {
			logged = reason
			s.log.Warn("store is not open; retrying", "error", err)
		}
		if !lifetime.Sleep(ctx, storeEvery) {
			return
		}
	}
}

// Reload reads the files of tokens again, as Run does every 2 s, and logs what has changed and
// which files cannot be read. These keep their last token. The error names them and wraps
// [coord.ErrInvalid].
func (s *Server) Reload() error { return s.reload(true) }

// reload reads the files of tokens. It logs an error once, or again if wanted.
func (s *Server) reload(again bool) error {
	if s.tokens == nil {
		return nil
	}
	changed, err := s.tokens.reload()
	if changed {
		s.log.Info("tokens have changed")
	}
	reason := textOf(err)
	if old := s.unread.Swap(&reason); err != nil && (again || old == nil || *old != reason) {
		s.log.Warn("tokens cannot be read; the last ones stay", "error", err)
	}
	return err
}
