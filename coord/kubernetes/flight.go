package kubernetes

import (
	"context"
	"sync"
)

// flights lets those who want a list at the same time share one. Each gets one that was begun after
// it had asked.
type flights struct {
	mu   sync.Mutex
	last chan struct{} // closed when the one before is over; nil: there was none
	next *flight       // that waits for it; nil: none does
}

// flight is one list.
type flight struct {
	waiting int // for it; guarded by flights.mu
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
	select {
	case <-fl.done:
		return fl.all, fl.err
	case <-ctx.Done():
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fl.waiting--; fl.waiting == 0 {
		fl.give()
		fs.began(fl)
	}
	return nil, context.Cause(ctx)
}

// began lets nobody else share a flight. The caller holds mu.
func (fs *flights) began(fl *flight) {
	if fs.next == fl {
		fs.next = nil
	}
}

// begin makes a flight that begins when the one before it is over. The caller holds mu.
func (fs *flights) begin(f func(context.Context) (*all, error)) *flight {
	life, give := context.WithCancel(context.Background())
	fl, before := &flight{give: give, done: make(chan struct{})}, fs.last
	fs.next, fs.last = fl, fl.done
	go func() {
		defer close(fl.done)
		defer give()
		if before != nil {
			<-before
		}
		fs.mu.Lock()
		fs.began(fl)
		fs.mu.Unlock()
		if fl.err = life.Err(); fl.err == nil {
			fl.all, fl.err = f(life)
		}
	}()
	return fl
}
