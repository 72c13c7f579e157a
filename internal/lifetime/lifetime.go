// Package lifetime is what the coordinators of all drivers have around their calls:
// settings, calls that end when the coordinator is closed, pauses, goroutines that Close waits
// for, and errors that say what was being done.
package lifetime

import (
	"context"
	"fmt"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// Life is the life of one coordinator, from [Begin] to End. It is safe for
// concurrent use.
type Life struct {
	driver, namespace string
	ctx               context.Context
	end               context.CancelFunc
	guard             func(ctx context.Context, call func(context.Context) error) error

	mu   sync.Mutex
	over bool
	work sync.WaitGroup // added to under mu
}

// Begin returns a life; the names are for error messages.
func Begin(driver, namespace string) *Life {
	l := &Life{driver: driver, namespace: namespace}
	l.guard = func(ctx context.Context, call func(context.Context) error) error { return call(ctx) }
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// Guard has every call made through f, which may end it and return another error. It comes before
// the first call.
func (l *Life) Guard(f func(ctx context.Context, call func(context.Context) error) error) {
	l.guard = f
}

// Context ends with the life.
func (l *Life) Context() context.Context { return l.ctx }

// Do makes a call that ends with ctx and with the life, and wraps its error with
// what it was to do. After End it returns [coord.ErrClosed].
func (l *Life) Do(ctx context.Context, what string, call func(context.Context) error) error {
	if l.ctx.Err() != nil {
		return coord.ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return l.wrap(what, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	err := l.guard(ctx, call)
	switch {
	case err == nil:
		return nil
	case l.ctx.Err() != nil:
		return fmt.Errorf("%w while this was under way: %s: %w", coord.ErrClosed, what, err)
	}
	return l.wrap(what, err)
}

func (l *Life) wrap(what string, err error) error {
	return fmt.Errorf("%s: %s of namespace %q: %w", l.driver, what, l.namespace, err)
}

// Spawn runs f in a goroutine that End waits for. It returns false, and runs
// nothing, after End.
func (l *Life) Spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.work.Go(f)
	return true
}

// End ends the life: the context, the calls under way, and in the end the goroutines,
// for which it waits. It may be called more than once.
func (l *Life) End() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.end()
	l.work.Wait()
}
