package main

import (
	"context"
	"log/slog"
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

// TestWaitsAreAnnounced: with each back end that takes connections and never answers, with each
// that is not there, with a state file that may have been lost and with a folder whose server
// hangs, a program that waits is told so, with reason and length.
func TestWaitsAreAnnounced(t *testing.T) {
	t.Parallel()
	dir, hung := filepath.ToSlash(t.TempDir()), t.TempDir()
	lock, err := filelock.Lock(filepath.Join(hung, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
	urls := map[string]string{"file": "static://?worker=3&state=" + dir + "/state", "folder": embedURL(hung)}
	addrSilent, addrNobody := silent(t), nobody(t)
	for _, url := range serverURLs {
		scheme, _, _ := strings.Cut(url, "ADDRESS")
		urls["silent "+scheme] = strings.Replace(url, "ADDRESS", addrSilent, 1)
		urls["refused "+scheme] = strings.Replace(url, "ADDRESS", addrNobody, 1)
	}
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newAnnouncements()
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- startAndClose(ctx, url, slog.New(log)) }()
			log.first(t, began, lengths...)
			cancel()
			if err := <-done; err == nil {
				t.Error("it was served")
			}
		})
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
