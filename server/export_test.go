package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// PieceTime is how long a caller may take to read a piece of a large reply.
const PieceTime = pieceTime

// SetNumbers serves a set, as Run does once it is open.
func (s *Server) SetNumbers(set Numbers) { s.store.Store(&store{Numbers: set}) }

// ReadNamespaces reads all namespaces once, as Run does.
func (s *Server) ReadNamespaces(ctx context.Context) error {
	var errs []error
	for _, g := range s.all {
		if err := s.readNamespace(ctx, g); err != nil {
			errs = append(errs, fmt.Errorf("generator %s: %w", g.name, err))
		}
	}
	return errors.Join(errs...)
}

// ShowWorkerIDs shows who holds which worker ID of a generator's namespace, as Run does.
func (s *Server) ShowWorkerIDs(name string, slots []coord.Slot, free, of int) {
	if g, err := s.named(name); err == nil {
		g.workers.Store(newWorkerList(slots, free, of, time.Now()))
	}
}

// Sample takes a sample for the page, as Run does.
func (s *Server) Sample() { s.facts() }

// InFlight returns how many requests are being answered.
func (s *Server) InFlight() int64 { return s.inFlight.Load() }

// ReplyBytes returns how many bytes of Config.MaxReplyBytes are in use.
func (s *Server) ReplyBytes() int64 { return s.replyBytes.Load() }

// ReloadTokens reads the files of tokens, and reports whether any has changed.
func (s *Server) ReloadTokens() (bool, error) { return s.tokens.reload() }

// Counting counts how often the server asks whether a generator is ready, and how it is.
func (s *Server) Counting(name string, check, look func()) error {
	g, err := s.named(name)
	if err != nil {
		return err
	}
	g.source = counting{g.source, check, look}
	return nil
}

type counting struct {
	source
	check, look func()
}

func (c counting) Check() error        { c.check(); return c.source.Check() }
func (c counting) Health() core.Health { c.look(); return c.source.Health() }
