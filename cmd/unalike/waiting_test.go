package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestAsk: what an error says about a call whose answer did not come.
func TestAsk(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("driver: %w", ctx.Err()) }
	early := func(context.Context) error { return fmt.Errorf("driver: %w", os.ErrDeadlineExceeded) }
	broken, refused := errors.New("broken"), fmt.Errorf("%w: no", coord.ErrInvalid)
	for _, tt := range []struct {
		name    string
		changes bool
		call    func(context.Context) error
		want    string
	}{
		{"read", false, hang, "driver: context deadline exceeded"},
		{"change", true, hang, "driver: context deadline exceeded; the outcome is unknown, and asking again is safe"},
		{"change, seen by the connection first", true, early, "driver: i/o timeout; the outcome is unknown, and asking again is safe"},
		{"late and refused", true, func(ctx context.Context) error { <-ctx.Done(); return refused }, refused.Error()},
	} {
		k := &asker{waits: waits{answer: time.Millisecond, quiet: callTime}, tell: func() {}}
		if err := k.ask(t.Context(), tt.changes, tt.call); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v; want %s", tt.name, err, tt.want)
		}
	}
	k := &asker{waits: waits{answer: callTime, quiet: callTime}, tell: func() {}}
	if err := k.ask(t.Context(), true, func(context.Context) error { return broken }); !errors.Is(err, broken) || err.Error() != "broken" {
		t.Errorf("it fails at once: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.ask(ended, true, hang); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "unknown") {
		t.Errorf("it was interrupted: %v", err)
	}
}

// TestAskOnce: on a screen that is drawn again and again, only the first wait is told of.
func TestAskOnce(t *testing.T) {
	told := make(chan struct{}, 2)
	k := &asker{waits: waits{answer: callTime}, tell: func() { told <- struct{}{} }, once: true}
	if err := k.ask(t.Context(), false, func(context.Context) error { <-told; return nil }); err != nil {
		t.Fatal(err)
	}
	k.answer = time.Millisecond
	if err := k.ask(t.Context(), false, func(ctx context.Context) error { <-ctx.Done(); return nil }); err != nil || len(told) > 0 {
		t.Errorf("the second wait: %v, told of %d times", err, len(told))
	}
}

// silent is where connections are taken and nobody ever answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// TestNoSuchFolder: looking at an embedded etcd that is not there does not make one.
func TestNoSuchFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "typo")
	url := "embed://" + urlPath(dir)
	for _, args := range [][]string{
		{"workers", "--coordinator", url},
		{"retire", "3", "--yes", "--coordinator", url},
		{"quarantine", "--yes", "--coordinator", url},
		{"init", "--yes", "--coordinator", "embed://" + urlPath(t.TempDir()), "--after", url},
	} {
		wantCall(t, call(t, nil, "", args...), exitFailure, "", "there is no etcd in folder "+dir+"; check the name")
	}
	data := t.TempDir()
	got := call(t, dataIn(data), "", "workers")
	wantCall(t, got, exitFailure, "", "unalike: the default coordinator: there is no etcd in folder "+data)
	for _, d := range []string{dir, filepath.Join(data, "unalike")} {
		if found, err := filepath.Glob(d); err != nil || len(found) > 0 {
			t.Errorf("%s was made: %v", d, err)
		}
	}
}
