package core_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// stuck is a handler that reads the generator's health, and then never returns.
type stuck struct {
	slog.Handler
	generator *atomic.Pointer[core.Generator]
	once      *sync.Once
	called    chan struct{}
	free      chan struct{}
}

func (stuck) Enabled(context.Context, slog.Level) bool { return true }
func (s stuck) Handle(context.Context, slog.Record) error {
	g := s.generator.Load()
	if g == nil {
		return nil // New has not returned
	}
	g.Health()
	s.once.Do(func() { close(s.called) })
	<-s.free
	return nil
}

// TestBlockedLogHandler: a generator whose log handler reads its health and blocks goes on with
// another worker ID after it has lost its own, renews, and closes.
func TestBlockedLogHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := stuck{slog.DiscardHandler, new(atomic.Pointer[core.Generator]), new(sync.Once), make(chan struct{}), make(chan struct{})}
		defer close(h.free)
		f := coordtest.NewFake(coordtest.FakeConfig{Workers: 4})
		g, err := core.New(t.Context(), f.Client(), core.Config{Logger: slog.New(h)})
		if err != nil {
			t.Fatal(err)
		}
		h.generator.Store(g)
		old := g.Health().Workers[0].WorkerID
		f.Steal(old)
		<-h.called
		time.Sleep(5 * time.Minute)
		if got := g.Health().Workers[0]; got.WorkerID == old {
			t.Errorf("worker ID %d is gone, and the generator has not gone on with another one", old)
		}
		if _, err := g.Next(); err != nil {
			t.Errorf("Next, minutes after the log handler has blocked: %v", err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}
