package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// longestCall bounds a call whose context has no deadline.
const longestCall = 10 * time.Second

// Coordinator leases worker IDs of one namespace in Redis. It is safe for concurrent
// use, and one serves any number of generators. Make it with [New], or with
// coord.Open.
type Coordinator struct {
	client    goredis.UniversalClient
	owned     bool   // the client was made here, and is closed here
	at        string // where the client connects to
	namespace string
	opts      Options
	log       *slog.Logger

	maxHorizon time.Duration // MaxHorizon; tests of this package shorten it
	advised    atomic.Bool   // the server's settings were looked at

	life    context.Context // ends at Close
	end     context.CancelFunc
	closing sync.Once
	closed  error // what closing the client said

	mu   sync.Mutex // guards what follows
	shut bool
	work sync.WaitGroup // calls under way; added to under mu
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.LeaseRuler  = (*Coordinator)(nil)
	_ coord.Lister      = (*Coordinator)(nil)
	_ coord.Admin       = (*Coordinator)(nil)
)

// Close ends what this coordinator has under way. It releases no worker ID, and leaves
// a client that was passed to [New] as it is; a call that hangs in that client ends
// there with the client's ReadTimeout, or when the client is closed.
func (c *Coordinator) Close() error {
	c.closing.Do(func() {
		c.mu.Lock()
		c.shut = true
		c.mu.Unlock()
		c.end()
		if c.owned {
			c.closed = c.client.Close() // ends what is under way
			c.work.Wait()
		}
	})
	return c.closed
}

// operation is what a script is run for.
type operation struct {
	what string
	// complete adds to the script's refusal what only the caller knows; nil: nothing.
	complete func(refusal error) error
}

// do runs a script in the server and returns its reply, or the error that it stands
// for.
func (c *Coordinator) do(ctx context.Context, op operation, s script, args ...any) (reply, error) {
	if c.life.Err() != nil {
		return nil, coord.ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return nil, c.failed(op, err)
	}
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	r, err := c.call(ctx, s, append([]any{c.maxHorizon.Microseconds(), c.opts.SkewBound.Microseconds()}, args...))
	switch {
	case err != nil && c.life.Err() != nil:
		return nil, fmt.Errorf("%w while it was to %s: %w", coord.ErrClosed, op.what, err)
	case err != nil:
		return nil, c.failed(op, c.explain(err))
	}
	if err := c.refusal(r); err != nil {
		if op.complete != nil {
			err = op.complete(err)
		}
		return nil, c.failed(op, err)
	}
	return r, nil
}

func (c *Coordinator) failed(op operation, err error) error {
	return fmt.Errorf("redis: %s of namespace %q: %w", op.what, c.namespace, err)
}

// call makes a call that ends with ctx. The client looks at a context's deadline, but
// not at its being cancelled while it waits for an answer; so it waits aside.
func (c *Coordinator) call(ctx context.Context, s script, args []any) (reply, error) {
	type result struct {
		reply reply
		err   error
	}
	done := make(chan result, 1)
	c.mu.Lock()
	if c.shut {
		c.mu.Unlock()
		return nil, coord.ErrClosed
	}
	c.work.Go(func() {
		r, err := s.Run(ctx, c.client, []string{slotsKey(c.namespace)}, args...).Slice()
		done <- result{r, err}
	})
	c.mu.Unlock()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// now reads this machine's clock, in microseconds since 1970.
func (c *Coordinator) now() int64 { return clock.Fresh(c.opts.Clock) }

// unixMicro is a time in microseconds since 1970, as a time.
func unixMicro(v int64) time.Time { return time.UnixMicro(v).UTC() }
