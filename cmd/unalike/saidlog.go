package main

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// saidLog is a log that knows whether anything was said, and that can be made calm:
// from then on it leaves warnings to those who get them as errors too.
type saidLog struct {
	slog.Handler
	*noted
}

// noted is what a log and those derived from it have in common.
type noted struct{ said, calm atomic.Bool }

func newSaidLog(h slog.Handler) *saidLog { return &saidLog{h, &noted{}} }

// Handle implements [slog.Handler].
func (n *saidLog) Handle(ctx context.Context, r slog.Record) error {
	if n.calm.Load() && r.Level >= slog.LevelWarn {
		return nil
	}
	n.said.Store(true)
	return n.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (n *saidLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &saidLog{n.Handler.WithAttrs(attrs), n.noted}
}

// WithGroup implements [slog.Handler].
func (n *saidLog) WithGroup(name string) slog.Handler {
	return &saidLog{n.Handler.WithGroup(name), n.noted}
}
