package filestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/statefile"
)

// bootClock is the time since a machine was started.
type bootClock struct{ since time.Duration }

// on are timed leases on a machine with a boot clock.
func (b *bootClock) on(machine, boot string) Leases {
	return timed{statefile.Home{Machine: machine, Boot: boot}, func() int64 {
		return b.since.Microseconds()
	}, "unalike quarantine --coordinator"}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Harness {
		b := &bootClock{since: time.Hour}
		path := filepath.Join(tb.TempDir(), "ids")
		s := New(Options{Path: path, Namespace: "n", Clock: clock.System(), Leases: b.on("m", "1")})
		return storetest.Harness{
			Store: s, Pass: func(d time.Duration) { b.since += d },
			Count: func(tb testing.TB) int {
				tb.Helper()
				stored, err := os.ReadFile(path)
				if err != nil {
					tb.Fatal(err)
				}
				d, err := decode(stored)
				if err != nil {
					tb.Fatal(err)
				}
				return 1 + len(d.Slots) + len(d.Marks)
			},
		}
	})
}

// TestServeAll_CallOver: a call whose context has ended before its turn is not reported as done.
func TestServeAll_CallOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := &op{ctx: ctx, run: func(*State) bool {
		t.Error("it is run")
		return false
	}, done: make(chan struct{})}
	newStore(newPath(t)).serveAll([]*op{o})
	<-o.done
	if !errors.Is(o.err, context.Canceled) {
		t.Errorf("its error is %v", o.err)
	}
}
