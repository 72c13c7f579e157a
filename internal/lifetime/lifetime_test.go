package lifetime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// A call under way ends with the life, and End waits for what was spawned.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Begin("driver", "orders")
		finished := false
		if !l.Spawn(func() {
			<-l.Context().Done()
			time.Sleep(time.Second)
			finished = true
		}) {
			t.Fatal("nothing was spawned")
		}
		result := make(chan error, 1)
		go func() {
			result <- l.Do(context.Background(), "wait", func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		synctest.Wait()
		l.End()
		if !finished {
			safetytest.Of(t).Error("End did not wait")
		}
		if err := <-result; !errors.Is(err, coord.ErrClosed) {
			t.Errorf("the call under way: %v; want %v", err, coord.ErrClosed)
		}
		called := false
		err := l.Do(context.Background(), "wait", func(context.Context) error {
			called = true
			return nil
		})
		if called || !errors.Is(err, coord.ErrClosed) {
			safetytest.Of(t).Errorf("a call after End: called %v, %v", called, err)
		}
		if l.Spawn(func() { t.Error("spawned after End") }) {
			safetytest.Of(t).Error("Spawn after End says that it spawned")
		}
		l.End()
	})
}

// Errors say what was being done, and a context that is over ends a call before it
// begins.
func TestErrors(t *testing.T) {
	l := Begin("driver", "orders")
	defer l.End()
	cause := errors.New("broken")
	err := l.Do(t.Context(), "renew", func(context.Context) error { return cause })
	if !errors.Is(err, cause) || err.Error() != `driver: renew of namespace "orders": broken` {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := l.Do(ctx, "renew", func(context.Context) error {
		t.Error("called")
		return nil
	}); !errors.Is(err, cause) {
		t.Errorf("the error of a context that is over: %v", err)
	}
}
