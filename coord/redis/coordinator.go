package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/record"
)

// longestCall bounds a call whose context has no deadline.
const longestCall = 10 * time.Second

// Coordinator leases worker IDs of one namespace in Redis. It is safe for concurrent
// use, and one serves any number of generators. Make it with [New], or with
// coord.Open.
type Coordinator struct {
	client    goredis.UniversalClient
	owned     bool   // the client was made here, and is closed here
	secure    bool   // made with a URL that asks for TLS
	at        string // where the client connects to
	namespace string
	opts      Options
	log       *slog.Logger

	maxHorizon time.Duration // MaxHorizon; tests of this package shorten it
	advised    atomic.Bool   // the server's settings were looked at

	life    *lifetime.Life
	closing sync.Once
	closed  error // what closing the client said
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.LeaseRuler  = (*Coordinator)(nil)
	_ coord.Lister      = (*Coordinator)(nil)
	_ coord.Inspector   = (*Coordinator)(nil)
	_ coord.Admin       = (*Coordinator)(nil)
)

// Close ends what this coordinator has under way. It releases no worker ID, and leaves
// a client that was passed to [New] as it is; a call that hangs in that client ends
// there with the client's ReadTimeout, or when the client is closed.
func (c *Coordinator) Close() error {
	c.closing.Do(func() {
		c.life.End()
		if c.owned {
			c.closed = c.client.Close()
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
func (c *Coordinator) do(ctx context.Context, op operation, s script, args ...any) (r reply, err error) {
	err = c.life.Do(ctx, op.what, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, longestCall)
		defer cancel()
		began := c.now()
		args = append([]any{c.maxHorizon.Microseconds(), c.opts.SkewBound.Microseconds()}, append(args, began)...)
		r, err = c.call(ctx, s, args)
		if err != nil {
			return c.explain(err)
		}
		err = c.refusal(r)
		if err != nil && op.complete != nil {
			err = op.complete(err)
		}
		return c.skewed(err, began)
	})
	return r, err
}

// call makes a call that ends with ctx. The client looks at a context's deadline, but
// not at its being cancelled while it waits for an answer; so it waits aside.
func (c *Coordinator) call(ctx context.Context, s script, args []any) (reply, error) {
	type result struct {
		reply reply
		err   error
	}
	done := make(chan result, 1)
	go func() {
		r, err := s.Run(ctx, c.client, []string{slotsKey(c.namespace)}, args...).Slice()
		done <- result{r, err}
	}()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// skewed completes the error of a clock that is off, of a call that began at a time.
func (c *Coordinator) skewed(err error, began int64) error {
	var skew *coord.ClockSkewError
	if !errors.As(err, &skew) {
		return err
	}
	if skew.Local.IsZero() {
		skew.Local = record.Time(began)
	}
	// The call may have been on its way for long, in which time the clock was not wrong
	// but old.
	took := time.Duration(c.now()-began) * time.Microsecond
	if behind := skew.Reference.Sub(skew.Local); behind > 0 && behind <= took+c.opts.SkewBound {
		return fmt.Errorf("the request took up to %v to reach the server, so that its clock reading was too old; try again", behind)
	}
	return err
}

// now reads this machine's clock, in microseconds since 1970.
func (c *Coordinator) now() int64 { return clock.Fresh(c.opts.Clock) }
