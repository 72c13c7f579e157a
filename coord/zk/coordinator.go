package zk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// Coordinator leases worker IDs of one namespace in a ZooKeeper ensemble. It is safe
// for concurrent use, and one serves any number of generators. Make it with [New], or
// with coord.Open.
type Coordinator struct {
	servers   []string
	namespace string
	nodes     folder
	opts      Options
	log       *slog.Logger
	acl       []client.ACL
	memory    *memory
	life      *lifetime.Life

	mu           sync.Mutex // guards what follows
	incarnations map[string]*incarnation
	looked       map[int]look // at the last acquisition that found every worker ID held
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.LeaseRuler  = (*Coordinator)(nil)
	_ coord.Notifier    = (*Coordinator)(nil)
	_ coord.Lister      = (*Coordinator)(nil)
	_ coord.Inspector   = (*Coordinator)(nil)
	_ coord.Admin       = (*Coordinator)(nil)
	_ coord.Lowerer     = (*Coordinator)(nil)
)

// Acquire implements [coord.Coordinator]. It opens a connection and makes three round
// trips on it, however many worker IDs are held; more only if others take the same
// ones at the same moment, or if the namespace is new.
func (c *Coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := c.checkRequest(req); err != nil {
		return coord.Grant{}, err
	}
	var g coord.Grant
	err := c.do(ctx, "acquire a worker ID", func(ctx context.Context) (err error) {
		g, err = c.acquire(ctx, req)
		return err
	})
	return g, err
}

// Renew implements [coord.Coordinator]. The session, which is the lease, is kept alive
// by the connection; if it has ended, the renewal puts the lease back.
func (c *Coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	var r coord.Grant
	err := c.do(ctx, fmt.Sprintf("renew worker ID %d", g.WorkerID), func(ctx context.Context) (err error) {
		r, err = c.renew(ctx, g, until)
		return err
	})
	return r, err
}

// Release implements [coord.Coordinator]. It ends the connection of the grant.
func (c *Coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	return c.do(ctx, fmt.Sprintf("release worker ID %d", g.WorkerID), func(ctx context.Context) error {
		return c.release(ctx, g, last)
	})
}

// Close ends what this coordinator has under way, and its connections. It releases no
// worker ID: sessions that hold one end on the servers after their TTL.
func (c *Coordinator) Close() error {
	c.life.End()
	return nil
}

// do makes a call that ends with ctx and with the coordinator, and wraps its error.
func (c *Coordinator) do(ctx context.Context, what string, call func(context.Context) error) error {
	return c.life.Do(ctx, what, func(ctx context.Context) error { return inTime(ctx, c.explain(call(ctx))) })
}

// inTime adds to an error that may pass that the call's time was up.
func inTime(ctx context.Context, err error) error {
	over := ctx.Err()
	if err == nil || over == nil || errors.Is(err, over) || coord.Permanent(err) || errors.Is(err, coord.ErrLeaseLost) || errors.Is(err, coord.ErrQuarantined) {
		return err
	}
	return fmt.Errorf("%w: %w", over, err)
}

// checkRequest tells whether this driver can serve a request at all.
func (c *Coordinator) checkRequest(req coord.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if err := checkTTL(req.TTL); err != nil {
		return err
	}
	if req.TTL < MinTTL {
		return fmt.Errorf("%w: TTL is %v; at least %v is allowed here", coord.ErrInvalid, req.TTL, MinTTL)
	}
	return lifetime.CheckHorizon(req, MaxHorizon)
}

// now reads this machine's clock, in microseconds since 1970.
func (c *Coordinator) now() int64 { return clock.Fresh(c.opts.Clock) }

// ttl is the TTL to use where no request says it.
func (c *Coordinator) ttl() time.Duration {
	if c.opts.Lease.TTL != 0 {
		return c.opts.Lease.TTL
	}
	return coord.DefaultTTL
}

// noChroot is the error if the chroot is not there.
func (c *Coordinator) noChroot() error {
	return fmt.Errorf("%w: the chroot %q does not exist in ZooKeeper; create that node first", coord.ErrInvalid, strings.TrimSuffix(c.nodes.root, rootName))
}

// quotaExceeded is what the client says instead of an error that it does not know.
const quotaExceeded = "unknown error: -125"

// explain adds what an error of the client leaves out.
func (c *Coordinator) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, coord.ErrInvalid), errors.Is(err, coord.ErrClosed):
		return err
	case definite(err, client.ErrNoAuth, client.ErrInvalidACL):
		who := "without a user and a password"
		if c.opts.User != "" {
			who = fmt.Sprintf("as user %q, perhaps with a wrong password", c.opts.User)
		}
		where := "nodes under " + c.nodes.space
		if at, ok := errors.AsType[*accessError](err); ok {
			where = "node " + at.node
		}
		return fmt.Errorf("%w: ZooKeeper refuses access to %s %s; the user that made them may use them, see their ACL: %w", coord.ErrInvalid, where, who, err)
	case errors.Is(err, errForeign):
		return fmt.Errorf("%w: %w", coord.ErrInvalid, err)
	case strings.HasSuffix(err.Error(), quotaExceeded):
		return fmt.Errorf("a quota that an operator has set in ZooKeeper is used up (%w)", err)
	case errors.Is(err, errAgain), errors.Is(err, errBusy):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %v in time: %w", c.servers, err)
	}
	return err
}

// accessError says to which node access was refused.
type accessError struct {
	node string
	error
}

func (e *accessError) Unwrap() error { return e.error }

// refusedAt adds the node to an error that says that access was refused.
func refusedAt(node string, err error) error {
	if definite(err, client.ErrNoAuth, client.ErrInvalidACL) {
		return &accessError{node, err}
	}
	return err
}
