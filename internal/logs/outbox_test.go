package logs_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/logs"
)

// blocking is a handler that keeps messages, and waits with the first for its channel.
type blocking struct {
	slog.Handler
	free chan struct{}
	mu   sync.Mutex
	said []string
}

func (b *blocking) Enabled(context.Context, slog.Level) bool { return true }

func (b *blocking) Handle(_ context.Context, r slog.Record) error {
	<-b.free
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, r.Message)
	return nil
}

func TestBlockedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &blocking{free: make(chan struct{})}
		l := logs.Or(slog.New(b))
		began := time.Now()
		const n = 1000
		for range n {
			l.Warn("said")
		}
		if took := time.Since(began); took == 0 || took > time.Second {
			t.Errorf("%d records took %v of waiting for a handler that blocks", n, took)
		}
		close(b.free)
		synctest.Wait()
		if got := len(b.said); got < 100 || got >= n {
			t.Errorf("%d of %d records were kept; want a bounded number", got, n)
		}
		if b.said[2] == "said" && b.said[1] == "said" {
			t.Errorf("what was dropped is not told: %q", b.said[:3])
		}
		before := len(b.said)
		l.Warn("again")
		if len(b.said) != before+1 {
			t.Error("a handler that answers again is not waited for")
		}
	})
}

// counting is a handler that counts records, each of which takes a while.
type counting struct {
	slog.Handler
	each  time.Duration
	calls atomic.Int64
}

func (*counting) Enabled(context.Context, slog.Level) bool { return true }

func (c *counting) Handle(context.Context, slog.Record) error {
	time.Sleep(c.each)
	c.calls.Add(1)
	return nil
}

// post posts records to the handler of a logger.
func post(t *testing.T, l *slog.Logger, n int) {
	t.Helper()
	for range n {
		logs.Post(t.Context(), l.Handler(), slog.NewRecord(time.Now(), slog.LevelInfo, "said", 0))
	}
}

func TestPost_DoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &counting{each: time.Millisecond}
		l := logs.Or(slog.New(h))
		began := time.Now()
		post(t, l, 10)
		if took := time.Since(began); took != 0 || h.calls.Load() != 0 {
			t.Errorf("posting took %v, with %d records written", took, h.calls.Load())
		}
		time.Sleep(time.Second)
		if h.calls.Load() != 10 {
			t.Errorf("%d of 10 records are written a second later", h.calls.Load())
		}
		began = time.Now()
		post(t, l, 10)
		logs.Flush(l)
		if took := time.Since(began); took != 10*h.each || h.calls.Load() != 20 {
			t.Errorf("Flush took %v; %d of 20 records are written", took, h.calls.Load())
		}
	})
}

func TestPost_SlowHandlerGetsAllRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &counting{each: time.Millisecond}
		l := logs.Or(slog.New(h))
		post(t, l, 10_000)
		logs.Flush(l)
		synctest.Wait()
		time.Sleep(time.Second)
		if h.calls.Load() != 10_000 {
			t.Errorf("%d of 10000 records are written", h.calls.Load())
		}
	})
}

func TestPost_BlockedHandlerDelaysOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &blocking{free: make(chan struct{})}
		l := logs.Or(slog.New(b))
		began := time.Now()
		post(t, l, 1000)
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("1000 records took %v of waiting for a handler that blocks", took)
		}
		close(b.free)
		synctest.Wait()
	})
}
