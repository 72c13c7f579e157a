package core_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		h := stuck{
			slog.DiscardHandler, new(atomic.Pointer[core.Generator]), new(sync.Once), make(chan struct{}),
			make(chan struct{}),
		}
		defer close(h.free)
		g := lease(t, newFake(4), func(c *core.Config) { c.Logger = slog.New(h) })
		h.generator.Store(g.Generator)
		old := g.Health().Workers[0].WorkerID
		g.fake.Steal(old)
		<-h.called
		time.Sleep(5 * time.Minute)
		if got := g.Health().Workers[0]; got.WorkerID == old {
			t.Errorf("worker ID %d is gone, and the generator has not gone on with another one", old)
		}
		g.next()
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}
