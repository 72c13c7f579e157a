package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestAsk: what an error says about a call whose answer did not come.
func TestAsk(t *testing.T) {
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("driver: %w",
			ctx.Err())
	}
	returns := func(err error) func(context.Context) error {
		return func(context.Context) error { return err }
	}
	refused := fmt.Errorf("%w: no", coord.ErrInvalid)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	const timer = "driver: context deadline exceeded"
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		answer  time.Duration
		changes bool
		call    func(context.Context) error
		want    string
	}{
		{"read", t.Context(), 1, false, hang, timer},
		{"change", t.Context(), 1, true, hang, timer +
			"; the outcome is unknown, and asking again is safe"},
		{
			"change, seen by the connection first", t.Context(), 1, true, returns(os.ErrDeadlineExceeded),
			"i/o timeout; the outcome is unknown, and asking again is safe",
		},
		{
			"late and refused", t.Context(), 1, true,
			func(ctx context.Context) error { <-ctx.Done(); return refused },
			refused.Error(),
		},
		{"it fails at once", t.Context(), callTime, true, returns(os.ErrClosed), os.ErrClosed.Error()},
		{"it was interrupted", ended, callTime, true, hang, "driver: context canceled"},
	} {
		k := &caller{waits: waits{answer: tt.answer, quiet: callTime}, tell: func() {}}
		if err := k.ask(tt.ctx, tt.changes, tt.call); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v; want %s", tt.name, err, tt.want)
		}
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
	dir, data := filepath.Join(t.TempDir(), "typo"), filepath.Join(t.TempDir(), "data")
	at, says := " --coordinator embed://"+urlPath(dir),
		"there is no etcd in folder "+dir+"; check the name"
	checkLines(t, dataIn(data), []line{
		{"workers" + at, exitFailure, says},
		{"retire 3 --yes" + at, exitFailure, says},
		{"quarantine --yes" + at, exitFailure, says},
		{
			"init --yes --coordinator " + embedURL(t.TempDir()) + " --after embed://" + urlPath(dir),
			exitFailure, says,
		},
		{"workers", exitFailure, "unalike: the default coordinator: there is no etcd in folder " + data},
	})
	for _, d := range []string{dir, data} {
		if _, err := os.Stat(d); !os.IsNotExist(err) {
			t.Errorf("%s was made: %v", d, err)
		}
	}
}
