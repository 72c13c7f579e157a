// Package logs says where the log goes if nobody has said so, and keeps the handler of a log
// away from the locks of whoever logs.
package logs

import (
	"context"
	"log/slog"
)

// Or returns l, or, if that is nil, a log whose warnings go to slog.Default() as it is
// now. What is less than a warning is dropped: a library that nobody has asked to log
// speaks up only if something may be wrong, or takes long.
//
// The handler is called from a goroutine of its own: it may call back into whoever logs, and
// may block. A log call waits for it for 100 ms at most.
func Or(l *slog.Logger) *slog.Logger {
	var h slog.Handler = warnings{slog.Default().Handler()}
	if l != nil {
		h = l.Handler()
	}
	if _, ok := h.(outbox); ok || h == slog.DiscardHandler {
		return slog.New(h)
	}
	return slog.New(outbox{h, new(queue)}) //mutant:log-outbox
}

// warnings is a handler without the levels below warnings.
type warnings struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// WithAttrs implements [slog.Handler].
func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }
