package logs_test

import (
	"context"
	"log/slog"
	"sync"
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
