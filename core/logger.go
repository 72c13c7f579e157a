package core

import (
	"context"
	"log/slog"
)

// defaultLogger returns a log whose warnings go to slog.Default().
func defaultLogger() *slog.Logger { return slog.New(warningsOnly{slog.Default().Handler()}) }

// warningsOnly is a handler without its lower levels.
type warningsOnly struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h warningsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// WithAttrs implements [slog.Handler].
func (h warningsOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningsOnly{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h warningsOnly) WithGroup(name string) slog.Handler {
	return warningsOnly{h.Handler.WithGroup(name)}
}
