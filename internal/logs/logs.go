// Package logs says where the log goes if nobody has said so.
package logs

import (
	"context"
	"log/slog"
)

// Or returns l, or, if that is nil, a log whose warnings go to slog.Default() as it is
// now. What is less than a warning is dropped: a library that nobody has asked to log
// speaks up only if something may be wrong, or takes long.
func Or(l *slog.Logger) *slog.Logger {
	if l != nil {
		return l
	}
	return slog.New(warnings{slog.Default().Handler()})
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
