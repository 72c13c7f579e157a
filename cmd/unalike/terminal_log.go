package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// terminalLog writes the log for a person: "unalike: warning: ..." and what belongs to
// it in parentheses.
type terminalLog struct {
	mu    *sync.Mutex
	out   io.Writer
	level slog.Leveler
	attrs string // in front of a record's own
	group string // in front of a key
}

func newTerminalLog(out io.Writer, level slog.Leveler) terminalLog {
	return terminalLog{mu: &sync.Mutex{}, out: out, level: level}
}

// Enabled implements [slog.Handler].
func (h terminalLog) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle implements [slog.Handler].
func (h terminalLog) Handle(_ context.Context, r slog.Record) error {
	kind := ""
	switch {
	case r.Level >= slog.LevelError:
		kind = "error: "
	case r.Level >= slog.LevelWarn:
		kind = "warning: "
	}
	attrs := h.attrs
	r.Attrs(func(a slog.Attr) bool { attrs += h.text(a); return true })
	if attrs != "" {
		attrs = " (" + strings.TrimPrefix(attrs, ", ") + ")"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintf(h.out, "unalike: %s%s%s\n", kind, r.Message, attrs)
	return err
}

// text returns an attribute as it stands behind others.
func (h terminalLog) text(a slog.Attr) string {
	v := a.Value.Resolve()
	text := strings.ReplaceAll(v.String(), "\n", "; ")
	if v.Kind() == slog.KindTime {
		text = v.Time().UTC().Format(timeForm)
	}
	return ", " + h.group + strings.ReplaceAll(a.Key, "_", " ") + " " + text
}

// WithAttrs implements [slog.Handler].
func (h terminalLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.attrs += h.text(a)
	}
	return h
}

// WithGroup implements [slog.Handler].
func (h terminalLog) WithGroup(name string) slog.Handler {
	h.group += name + "."
	return h
}
