package logs_test

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/logs"
)

// logTo returns a log without times.
func logTo(text *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(text,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
}

func TestOr(t *testing.T) {
	var text bytes.Buffer
	before := slog.Default()
	slog.SetDefault(logTo(&text))
	defer slog.SetDefault(before)
	if l := logs.Or(slog.New(slog.DiscardHandler)); l.Enabled(t.Context(), slog.LevelError) {
		t.Error("a logger that was given is replaced")
	}
	if l := logs.Or(slog.Default()); logs.Or(l).Handler() != l.Handler() {
		t.Error("a log has two goroutines")
	}
	l := logs.Or(nil)
	l.Info("dropped")
	l.With("a", 1).Info("dropped")
	l.WithGroup("g").Info("dropped", "a", 1)
	l.Warn("said")
	l.With("a", 1).Error("said")
	l.WithGroup("g").Warn("said", "a", 1)
	const want = "level=WARN msg=said\nlevel=ERROR msg=said a=1\nlevel=WARN msg=said g.a=1\n"
	if text.String() != want {
		t.Errorf("logged was\n%s\nwant\n%s", &text, want)
	}
}

func TestWaiting(t *testing.T) {
	for took, want := range map[time.Duration]string{
		0:               "",
		logs.Quiet / 2:  "",
		logs.Quiet + 1:  "level=WARN msg=waiting for=answer\n",
		10 * logs.Quiet: "level=WARN msg=waiting for=answer\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var text bytes.Buffer
			said := logs.Waiting(logTo(&text), func() { time.Sleep(took) }, "waiting", "for", "answer")
			if text.String() != want || said != (want != "") {
				t.Errorf("after %v: %v, %q", took, said, &text)
			}
		})
	}
	if logs.Quiet >= time.Second {
		t.Error("a wait is announced within a second")
	}
}
