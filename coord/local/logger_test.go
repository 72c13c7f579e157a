package local

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// curious is a handler that reads the generator's health when the back end has ended a lease,
// and blocks then.
type curious struct {
	slog.Handler
	generator *atomic.Pointer[core.Generator]
	once      *sync.Once
	called    chan struct{}
	free      chan struct{}
}

func (curious) Enabled(context.Context, slog.Level) bool { return true }
func (h curious) Handle(_ context.Context, r slog.Record) error {
	g := h.generator.Load()
	if g == nil || !strings.HasPrefix(r.Message, "the back end says") {
		return nil
	}
	h.once.Do(func() { close(h.called) })
	g.Health()
	<-h.free
	return nil
}

// TestLogHandlerReadsAndBlocks: what is logged with the coordinator's state locked does not
// stop the generator, whatever the log handler does.
func TestLogHandlerReadsAndBlocks(t *testing.T) {
	t.Parallel()
	server := memstore.NewServer("a")
	h := curious{slog.DiscardHandler, new(atomic.Pointer[core.Generator]), new(sync.Once), make(chan struct{}), make(chan struct{})}
	defer close(h.free)
	c, err := New(memory(t, server), filepath.Join(t.TempDir(), "state"), Options{Logger: slog.New(h)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g, err := core.New(ctx, c, core.Config{Lease: coord.LeaseConfig{TTL: 3 * time.Second, Horizon: 3 * time.Second}, Logger: slog.New(h)})
	if err != nil {
		t.Fatal(err)
	}
	h.generator.Store(g)
	old := g.Health().Workers[0].WorkerID
	server.Expire(old)
	if err := memory(t, server).Retire(ctx, old); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.called:
	case <-ctx.Done():
		t.Fatal("nothing is logged about a worker ID that was retired")
	}
	done := make(chan error, 1)
	go func() {
		for g.Health().Workers[0].WorkerID == old && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if _, err := g.NextContext(ctx); err != nil {
			done <- err
			return
		}
		done <- g.Close(ctx)
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("Health, Next or Close hangs while the log handler is called")
	}
}
