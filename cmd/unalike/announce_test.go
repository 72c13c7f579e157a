package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/logs"
)

// announcement is a line of a log, and when it was written.
type announcement struct {
	at   time.Time
	text string
}

// announcements are the lines of a log.
type announcements chan announcement

// Write implements [io.Writer].
func (a announcements) Write(line []byte) (int, error) {
	select {
	case a <- announcement{time.Now(), string(line)}:
	default:
	}
	return len(line), nil
}

// checkFirst looks for the first line that tells how long a wait is, which must have been written
// within a second, or a second more than a timer of this machine is late.
func (a announcements) checkFirst(t *testing.T, began time.Time) {
	t.Helper()
	rang := make(chan time.Duration, 1)
	time.AfterFunc(time.Until(began.Add(logs.Quiet)),
		func() { rang <- time.Since(began) - logs.Quiet })
	tells := func(line string) bool {
		return slices.ContainsFunc([]string{"trying_until=", "at_most=", " for="},
			func(w string) bool { return strings.Contains(line, w) })
	}
	var seen []string
	for end := time.After(time.Minute); ; {
		select {
		case line := <-a:
			if seen = append(seen, line.text); !tells(line.text) {
				continue
			}
			if took, delay := line.at.Sub(began), <-rang; took > time.Second+2*delay {
				t.Errorf("announced after %v, where a timer was late by %v:\n%s", took, delay, line.text)
			}
			return
		case <-end:
			t.Fatalf("no length was announced, but\n%s", strings.Join(seen, ""))
		}
	}
}

// hungFolder returns the URL of an embedded etcd in a folder whose server hangs.
func hungFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	lock, err := filelock.Lock(filepath.Join(folder, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
	return embedURL(folder)
}

// TestWaitsAreAnnounced: with each back end that takes connections and never answers, with each
// that is not there, with a state file that may have been lost and with a folder whose server
// hangs, a program that waits is told so, with reason and length.
func TestWaitsAreAnnounced(t *testing.T) {
	t.Parallel()
	urls := []string{"static://?worker=3&state=" + urlPath(t.TempDir()) + "/state", hungFolder(t)}
	for _, addr := range []string{silent(t), nobody(t)} {
		for _, url := range serverURLs {
			urls = append(urls, strings.Replace(url, "ADDRESS", addr, 1))
		}
	}
	for _, url := range urls {
		t.Run(strings.ReplaceAll(url, "/", "_"), func(t *testing.T) {
			t.Parallel()
			lines := make(announcements, 100)
			log := slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelWarn}))
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- startAndClose(ctx, url, log) }()
			lines.checkFirst(t, began)
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
