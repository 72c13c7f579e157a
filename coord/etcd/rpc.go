package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/coord"
)

const (
	// longestCall bounds one call to etcd. A member that hangs costs no more than
	// this; the next call goes to another one.
	longestCall = 10 * time.Second
	// shortestCall is enough for a round trip on a slow link.
	shortestCall = 100 * time.Millisecond
	// readTries is how often something is read before its error counts.
	readTries = 3
	// tidyTime bounds what is done after a call was answered: revoking a lease that is
	// not needed.
	tidyTime = time.Second
)

// step bounds one of several calls that are made in turn within ctx: by a third of
// the time that is left, so that a reply that is lost leaves time to look what
// happened.
func step(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := longestCall
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, max(until(end)/3, shortestCall))
	}
	return context.WithTimeout(ctx, limit)
}

// until is how long it takes until a deadline of a context.
func until(end time.Time) time.Duration {
	return time.Until(end) //nolint:forbidigo // a context's deadline is kept by the machine's timers and not by anybody's clock
}

// reply is the answer to a transaction, and the era of the memory in which it was begun.
type reply struct {
	*clientv3.TxnResponse
	era int64
}

// propose makes a transaction that may write, and remembers what its reply says of
// the cluster.
func (c *Coordinator) propose(ctx context.Context, compare []clientv3.Cmp, then, orElse []clientv3.Op) (*reply, error) {
	ctx, cancel := step(ctx)
	defer cancel()
	at := c.memory.sight()
	resp, err := c.client.Txn(ctx).If(compare...).Then(then...).Else(orElse...).Commit()
	if err != nil {
		return nil, err
	}
	c.memory.learn(at, resp.Header)
	return &reply{resp, at.era}, nil
}

// fetch reads several keys at one moment. Reading twice does no harm, so a broken
// connection or a member that hangs is given another chance.
func (c *Coordinator) fetch(ctx context.Context, ops ...clientv3.Op) (*reply, error) {
	at := c.memory.sight()
	for try := 1; ; try++ {
		resp, err := c.fetchOnce(ctx, ops)
		if err == nil || try == readTries || ctx.Err() != nil || !transient(err) {
			return &reply{resp, at.era}, err
		}
	}
}

func (c *Coordinator) fetchOnce(ctx context.Context, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := step(ctx)
	defer cancel()
	return c.client.Txn(ctx).Then(ops...).Commit()
}

// newLease grants a lease of so many seconds.
func (c *Coordinator) newLease(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	ctx, cancel := step(ctx)
	defer cancel()
	resp, err := c.client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return 0, err
	}
	return resp.ID, nil
}

// keepAlive renews a lease, with as many tries as fit into half of the time that is
// left, each with its own deadline: a member that hangs must not cost the lease.
// The stream of Client.KeepAlive has no such deadline.
func (c *Coordinator) keepAlive(ctx context.Context, lease clientv3.LeaseID) error {
	limit := longestCall
	if end, ok := ctx.Deadline(); ok {
		limit = until(end) / 2
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := func() error {
			try, cancel := step(ctx)
			defer cancel()
			_, err := c.client.KeepAliveOnce(try, lease)
			return err
		}()
		if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) || ctx.Err() != nil || !transient(err) {
			return err
		}
	}
}

// drop revokes a lease that nobody was told of, in the background.
func (c *Coordinator) drop(lease clientv3.LeaseID) {
	if lease == 0 {
		return
	}
	c.life.Spawn(func() {
		ctx, cancel := context.WithTimeout(context.Background(), tidyTime)
		defer cancel()
		// If this fails, the lease ends by itself.
		_, _ = c.client.Revoke(ctx, lease)
	})
}

// transient tells whether an error may be gone with the next try.
func transient(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var server rpctypes.EtcdError
	if errors.As(err, &server) {
		return server.Code() == codes.Unavailable || server.Code() == codes.DeadlineExceeded
	}
	s, ok := status.FromError(err)
	return ok && (s.Code() == codes.Unavailable || s.Code() == codes.DeadlineExceeded)
}

// unclear is the error of a write of which not even reading tells whether it was
// done.
func unclear(write, read error) error {
	if read.Error() == write.Error() {
		return write
	}
	return fmt.Errorf("%w (what became of it is not known: %w)", write, read)
}

// explain adds what an error of the client leaves out.
func (c *Coordinator) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("%w: the etcd user may not read and write keys under %s; grant it a role that may: %w", coord.ErrInvalid, string(c.keys), err)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return fmt.Errorf("%w: the etcd cluster wants a user and a password: %w", coord.ErrInvalid, err)
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return fmt.Errorf("%w: the etcd cluster refuses the user name or the password: %w", coord.ErrInvalid, err)
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, coord.ErrClosed):
		return fmt.Errorf("no answer from %s in time: %w%s", strings.Join(c.client.Endpoints(), ", "), err, c.connection(ctx))
	case transient(err):
		return fmt.Errorf("%s cannot serve now: %w", strings.Join(c.client.Endpoints(), ", "), err)
	}
	return err
}

// connection tells what is wrong with the connection, if anything is: the client
// waits for one and then only says that time is up.
func (c *Coordinator) connection(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortestCall)
	defer cancel()
	if err := diagnose(ctx, c.client); err != nil {
		return " (" + err.Error() + ")"
	}
	return ""
}
