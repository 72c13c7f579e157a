package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/logs"
)

// announcements is a log that passes on when and how each warning was written.
type announcements struct {
	slog.Handler
	lines chan announcement
}

type announcement struct {
	at   time.Time
	text string
}

func newAnnouncements() announcements {
	return announcements{slog.DiscardHandler, make(chan announcement, 100)}
}

// Enabled implements [slog.Handler].
func (a announcements) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements [slog.Handler].
func (a announcements) WithAttrs([]slog.Attr) slog.Handler { return a }

// WithGroup implements [slog.Handler].
func (a announcements) WithGroup(string) slog.Handler { return a }

// Handle implements [slog.Handler].
func (a announcements) Handle(_ context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return nil
	}
	var text strings.Builder
	_ = slog.NewTextHandler(&text, nil).Handle(context.Background(), r)
	select {
	case a.lines <- announcement{r.Time, text.String()}:
	default:
	}
	return nil
}

// first returns the first line with one of the given words, which must have been written
// within a second, or a second more than a timer of this machine is late.
func (a announcements) first(t *testing.T, began time.Time, words ...string) {
	t.Helper()
	rang := make(chan time.Duration, 1)
	time.AfterFunc(time.Until(began.Add(logs.Quiet)), func() { rang <- time.Since(began) - logs.Quiet })
	var seen []string
	for end := time.After(time.Minute); ; {
		select {
		case line := <-a.lines:
			seen = append(seen, line.text)
			for _, w := range words {
				if !strings.Contains(line.text, w) {
					continue
				}
				if took, late := line.at.Sub(began), <-rang; took > time.Second+2*late {
					t.Errorf("announced after %v, where a timer was late by %v:\n%s", took, late, line.text)
				}
				return
			}
		case <-end:
			t.Fatalf("nothing with %q was announced, but\n%s", words, strings.Join(seen, ""))
		}
	}
}

// lengths are the keys that tell how long a wait is.
var lengths = []string{"trying_until=", "at_most=", " for="}

// TestWaitsAreAnnounced: with each back end that takes connections and never answers, and
// with each that is not there, a program that waits is told so, with reason and length.
func TestWaitsAreAnnounced(t *testing.T) {
	t.Parallel()
	for kind, address := range map[string]func(*testing.T) string{"silent": silent, "refused": nobody} {
		for _, url := range serverURLs {
			scheme, _, _ := strings.Cut(url, "ADDRESS")
			t.Run(kind+" "+scheme, func(t *testing.T) {
				t.Parallel()
				log := newAnnouncements()
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- startAndClose(ctx, strings.Replace(url, "ADDRESS", address(t), 1), slog.New(log)) }()
				log.first(t, began, lengths...)
				cancel()
				if err := <-done; err == nil {
					t.Error("it was served")
				}
			})
		}
	}
}

// startAndClose starts a generator as a program does that waits for it.
func startAndClose(ctx context.Context, url string, log *slog.Logger) error {
	c, err := coord.Open(ctx, url, coord.OpenOptions{Logger: log})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	g, err := core.New(ctx, c, core.Config{Logger: log})
	if err == nil {
		err = g.Close(context.Background())
	}
	return err
}

// TestWaitsForFilesAreAnnounced is the same for the coordinators that need no server: a
// state file that may have been lost, and a folder whose server hangs.
func TestWaitsForFilesAreAnnounced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hung := filepath.Join(dir, "hung")
	if err := os.Mkdir(hung, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Lock(filepath.Join(hung, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	for name, url := range map[string]string{
		"static":   "static://?worker=3&state=" + filepath.ToSlash(filepath.Join(dir, "state")),
		"embedded": embedURL(hung),
	} {
		t.Run(name, func(t *testing.T) {
			log := newAnnouncements()
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- startAndClose(ctx, url, slog.New(log)) }()
			log.first(t, began, lengths...)
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("startAndClose: %v", err)
			}
		})
	}
}

// firstWrite notes when a text was written first.
type firstWrite struct {
	locked
	what string
	at   chan time.Time
}

func (f *firstWrite) Write(b []byte) (int, error) {
	if strings.Contains(string(b), f.what) {
		select {
		case f.at <- time.Now():
		default:
		}
	}
	return f.locked.Write(b)
}

// TestCommandAnnouncesItsWaits: within a second, the command says what it waits for and
// how long.
func TestCommandAnnouncesItsWaits(t *testing.T) {
	t.Parallel()
	addr := silent(t)
	for _, url := range serverURLs {
		for _, command := range []string{"generate", "workers", "init"} {
			t.Run(command+" "+url[:4], func(t *testing.T) {
				t.Parallel()
				stderr := &firstWrite{what: "waiting for", at: make(chan time.Time, 1)}
				a := &app{
					streams: streams{out: io.Discard, err: stderr}, lookupEnv: func(string) (string, bool) { return "", false },
					waits: waits{answer: answerTime, quiet: quietTime, dial: dialTime},
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				rang := make(chan time.Duration, 1)
				began := time.Now()
				time.AfterFunc(logs.Quiet, func() { rang <- time.Since(began) - logs.Quiet })
				done := make(chan int, 1)
				go func() {
					done <- a.run(ctx, []string{command, "--coordinator", strings.Replace(url, "ADDRESS", addr, 1)})
				}()
				select {
				case at := <-stderr.at:
					if took, late := at.Sub(began), <-rang; took > time.Second+2*late {
						t.Errorf("announced after %v, where a timer was late by %v", took, late)
					}
				case code := <-done:
					t.Fatalf("it ended with %d and had said\n%s", code, stderr)
				}
				cancel()
				if <-done == exitOK {
					t.Error("it was served")
				}
				if said := stderr.String(); !strings.Contains(said, "at most") && !strings.Contains(said, "at_most=") && !strings.Contains(said, "trying_until=") {
					t.Errorf("no length was announced:\n%s", said)
				}
			})
		}
	}
}
