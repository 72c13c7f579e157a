package kubernetes

import (
	"context"
	"sync"
)

// flights lets those who want a list at the same time share one. Each gets one that was
// begun after it had asked.
type flights struct {
	mu      sync.Mutex
	running *flight // nil: none is
	next    *flight // that waits for it; nil: none does
}

// flight is one list.
type flight struct {
	what    string // is done; of a wait
	waiting int    // for it; guarded by flights.mu
	give    context.CancelFunc
	done    chan struct{}
	all     *all
	err     error
}

// do returns what a list that f makes tells.
func (fs *flights) do(ctx context.Context, f func(context.Context) (*all, error)) (*all, error) {
	fs.mu.Lock()
	fl := fs.next
	if fl == nil {
		fl = fs.begin(f)
	}
	fl.waiting++
	fs.mu.Unlock()
	return fs.await(ctx, fl)
}

// join returns the result of f, which does something for all who wait for the same: also one that
// was begun before.
func (fs *flights) join(ctx context.Context, what string, f func(context.Context) (*all, error)) (*all, error) {
	fs.mu.Lock()
	fl := fs.running
	if fl == nil || fl.what != what || fl.waiting == 0 || fl.over() {
		life, give := context.WithCancel(context.Background())
		fl = &flight{what: what, give: give, done: make(chan struct{})}
		fs.running = fl
		go func() {
			defer give()
			fl.all, fl.err = f(life)
			close(fl.done)
		}()
	}
	fl.waiting++
	fs.mu.Unlock()
	return fs.await(ctx, fl)
}

// over reports whether it has ended.
func (fl *flight) over() bool {
	select {
	case <-fl.done:
		return true
	default:
		return false
	}
}

// await waits for a flight that the caller is counted in.
func (fs *flights) await(ctx context.Context, fl *flight) (*all, error) {
	select {
	case <-fl.done:
		return fl.all, fl.err
	case <-ctx.Done():
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fl.waiting--; fl.waiting == 0 {
		fl.give()
		if fs.next == fl {
			fs.next = nil
		}
	}
	return nil, context.Cause(ctx)
}

// begin makes a flight that begins when the one before it is over. The caller holds mu.
func (fs *flights) begin(f func(context.Context) (*all, error)) *flight {
	life, give := context.WithCancel(context.Background())
	fl, before := &flight{give: give, done: make(chan struct{})}, fs.running
	fs.next = fl
	go func() {
		defer give()
		if before != nil {
			select {
			case <-before.done:
			case <-life.Done():
				fl.err = life.Err()
				close(fl.done)
				return
			}
		}
		fs.mu.Lock()
		if fs.next == fl {
			fs.next = nil
		}
		fs.running = fl
		fs.mu.Unlock()
		fl.all, fl.err = f(life)
		close(fl.done)
	}()
	return fl
}
