package redis

import (
	"context"
	"crypto/rand"
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
	"github.com/unalike-id/unalike/internal/protocol"
)

// Coordinator leases worker IDs of one namespace in Redis. It is safe for concurrent
// use, and one serves any number of generators. Make it with [New], or with
// coord.Open.
type Coordinator struct {
	client    goredis.UniversalClient
	owned     bool   // the client was made here, and is closed here
	hangUp    func() // ends what such a client waits for
	secure    bool   // made with a URL that asks for TLS
	at        string // where the client connects to
	place     string // see Describe; empty: not known
	namespace string
	opts      Options
	log       *slog.Logger

	maxHorizon time.Duration // MaxHorizon; tests of this package shorten it
	advised    atomic.Bool   // the server's settings were looked at
	latest     latest        // the namespace as it was seen last

	life    *lifetime.Life
	closing sync.Once
	closed  error // what closing the client said
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.Resumer     = (*Coordinator)(nil)
	_ coord.Describer   = (*Coordinator)(nil)
	_ coord.Admin       = (*Coordinator)(nil)
)

// Close ends what this coordinator has under way. It releases no worker ID, and leaves
// a client that was passed to [New] as it is; a call that hangs in that client ends
// there with the client's ReadTimeout, or when the client is closed.
func (c *Coordinator) Close() error {
	c.closing.Do(func() {
		c.life.End()
		if c.owned {
			c.hangUp()
			c.closed = c.client.Close()
		}
	})
	return c.closed
}

// Describe implements [coord.Describer]. The place is known of clients that are made from a URL,
// and of others but those of Sentinels.
func (c *Coordinator) Describe() coord.Description {
	return coord.Description{Rules: c.rules(), Warnings: c.warnings(), Place: c.place}
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
	r, _, err := c.ask(ctx, op, s, args...)
	return r, err
}

// ask is do, and returns as well what the script saw of the namespace.
func (c *Coordinator) ask(ctx context.Context, op operation, s script, args ...any) (r reply, seen snapshot, err error) {
	err = c.life.Do(ctx, op.what, func(ctx context.Context) (err error) {
		began := c.now()
		r, seen, err = c.try(ctx, op, s, args, 0)
		if errors.Is(err, errLate) {
			// The network is slow. The clock reading may be as old again when the request is
			// sent once more.
			slack := min(2*time.Duration(c.now()-began)*time.Microsecond, c.maxHorizon)
			r, seen, err = c.try(ctx, op, s, args, slack)
		}
		return err
	})
	return r, seen, err
}

// try makes one call. The caller's clock may look behind by slack, and nobody is to
// blame.
func (c *Coordinator) try(ctx context.Context, op operation, s script, args []any, slack time.Duration) (reply, snapshot, error) {
	began := c.now()
	all := []any{c.maxHorizon.Microseconds(), c.opts.SkewBound.Microseconds(), slack.Microseconds(), rand.Text()}
	all = append(append(append(all, c.latest.get().args()...), args...), began)
	answer, err := c.call(ctx, s, all)
	if err != nil {
		return nil, snapshot{}, c.explain(err)
	}
	parts, err := reply{[]any(answer)}.list(0)
	if err != nil || len(parts) != 2 {
		return nil, snapshot{}, errors.Join(errReply, err)
	}
	seen, err := snapshotOf(parts[0])
	if err != nil {
		return nil, snapshot{}, err
	}
	c.latest.put(seen)
	err = c.refusal(parts[1])
	if err != nil && op.complete != nil {
		err = op.complete(err)
	}
	return parts[1], seen, c.skewed(err, began)
}

// errLate says that nothing is known of a clock that a request took so long to bring.
var errLate = errors.New("its clock reading was too old; try again")

// skewed completes the error of a clock that is off, of a call that began at a time.
func (c *Coordinator) skewed(err error, began int64) error {
	var skew *coord.ClockSkewError
	if !errors.As(err, &skew) {
		return err
	}
	if skew.Local.IsZero() {
		skew.Local = protocol.Time(began)
	}
	// The call may have been on its way for long, in which time the clock was not wrong
	// but old.
	took := time.Duration(c.now()-began) * time.Microsecond
	if behind := skew.Reference.Sub(skew.Local); behind > 0 && behind <= took+c.opts.SkewBound {
		return fmt.Errorf("the request took up to %v to reach the server, so that %w", behind, errLate)
	}
	return err
}

// now reads this machine's clock, in microseconds since 1970.
func (c *Coordinator) now() int64 { return clock.Fresh(c.opts.Clock) }
