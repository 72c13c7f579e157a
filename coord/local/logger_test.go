package local

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// curious is a handler that reads the generator's health when a warning is logged, and blocks then.
type curious struct {
	slog.Handler
	generator *atomic.Pointer[core.Generator]
	called    *atomic.Bool
	free      chan struct{}
}

func (curious) Enabled(context.Context, slog.Level) bool { return true }

func (h curious) Handle(context.Context, slog.Record) error {
	if g := h.generator.Load(); g != nil {
		g.Health()
		h.called.Store(true)
		<-h.free
	}
	return nil
}

// TestLogHandlerReadsAndBlocks: a log handler does not stop the generator, whatever it does.
func TestLogHandlerReadsAndBlocks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := curious{
			slog.DiscardHandler, new(atomic.Pointer[core.Generator]), new(atomic.Bool), make(chan struct{}),
		}
		defer close(h.free)
		c := r.build(h)
		g := r.generator(&process{c, r}, new(atomic.Int64), coord.LeaseConfig{})
		h.generator.Store(g)
		old := g.Health().Workers[0].WorkerID
		if err := memoryCoordinator(t, r.server).Retire(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if _, err := g.TryNext(); err != nil || g.Health().Workers[0].WorkerID == old ||
			!h.called.Load() {
			t.Errorf("%v, %+v, called %t", err, g.Health().Workers, h.called.Load())
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
