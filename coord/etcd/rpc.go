package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/coord"
)

// reply is the answer to a transaction.
type reply struct {
	*clientv3.TxnResponse
	at   sight // before the request
	seen int64 // when it came, in microseconds since 1970
	// again tells that the transaction was sent more than once. If it was not done, it
	// may have been done the first time.
	again bool
}

// propose makes a transaction that may write, and remembers what its reply says of
// the cluster. It may be sent more than once: whoever writes compares what the first
// one changes.
func (c *Coordinator) propose(ctx context.Context, compare []clientv3.Cmp, then, orElse []clientv3.Op) (*reply, error) {
	return c.transact(ctx, false, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return c.client.Txn(ctx).If(compare...).Then(then...).Else(orElse...).Commit()
	})
}

// fetch reads several keys at one moment. Reading twice does no harm, so a broken
// connection is given another chance.
func (c *Coordinator) fetch(ctx context.Context, ops ...clientv3.Op) (*reply, error) {
	return c.transact(ctx, true, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return c.client.Txn(ctx).Then(ops...).Commit()
	})
}

func (c *Coordinator) transact(ctx context.Context, repeat bool, txn func(context.Context) (*clientv3.TxnResponse, error)) (*reply, error) {
	at := c.memory.sight()
	resp, sent, err := ask(ctx, &c.pace, repeat, txn)
	if err != nil {
		return nil, err
	}
	c.memory.learn(at, resp.Header)
	return &reply{TxnResponse: resp, at: at, seen: c.now(), again: sent > 1}, nil
}

// grantLease makes the lease id, which lasts ttl. Doing it twice does no harm.
func (c *Coordinator) grantLease(ctx context.Context, id clientv3.LeaseID, ttl time.Duration) error {
	_, _, err := ask(ctx, &c.pace, true, func(ctx context.Context) (*pb.LeaseGrantResponse, error) {
		resp, err := clientv3.RetryLeaseClient(c.client).LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: int64(id), TTL: int64(ttl / time.Second)})
		return resp, clientv3.ContextError(ctx, err)
	})
	if errors.Is(err, rpctypes.ErrLeaseExist) {
		return nil // an earlier request has done it
	}
	return err
}

// newLeaseID returns an ID that nobody has, as etcd does itself for those who name none.
func newLeaseID() clientv3.LeaseID { return clientv3.LeaseID(1 + rand.Int64N(math.MaxInt64)) }

// newLease makes a lease with a new ID.
func (c *Coordinator) newLease(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	id := newLeaseID()
	return id, c.grantLease(ctx, id, ttl)
}

// keepAlive renews a lease. The stream of Client.KeepAlive has no deadline, so that a
// member that hangs would cost the lease.
func (c *Coordinator) keepAlive(ctx context.Context, lease clientv3.LeaseID) error {
	_, _, err := ask(ctx, &c.pace, true, func(ctx context.Context) (*clientv3.LeaseKeepAliveResponse, error) {
		return c.client.KeepAliveOnce(ctx, lease)
	})
	return err
}

// remaining returns how long a lease lasts at the longest if nobody renews it; ttl if
// the cluster does not say.
func (c *Coordinator) remaining(ctx context.Context, lease clientv3.LeaseID, ttl time.Duration) time.Duration {
	resp, _, err := ask(ctx, &c.pace, true, func(ctx context.Context) (*clientv3.LeaseTimeToLiveResponse, error) {
		return c.client.TimeToLive(ctx, lease)
	})
	if err != nil {
		return ttl + revokeTime
	}
	return time.Duration(max(resp.TTL, 0))*time.Second + revokeTime
}

// revokeTime is by how much etcd is late at the most with the end of a lease: it tells
// whole seconds, and looks for leases that have ended twice a second.
const revokeTime = 2 * time.Second

// monotonic is a reading of the machine's clock, for measuring how much time passes.
func monotonic() time.Time {
	return time.Now() //nolint:forbidigo // for measuring how much time passes, which no clock that is set can tell
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
		return fmt.Errorf("%s cannot serve now: %w%s", strings.Join(c.client.Endpoints(), ", "), err, c.connection(ctx))
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
