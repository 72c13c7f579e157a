package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// requests makes requests of a cluster.
type requests struct {
	client *clientv3.Client
	prefix string // of the keys, for error messages
	pace   pace
	unwell atomic.Bool   // the last request got no answer
	known  atomic.Uint64 // the cluster's ID, by the last answer; 0: there was none
}

// reply is the answer to a transaction.
type reply struct {
	*clientv3.TxnResponse
	// again tells that the transaction was sent more than once. If it was not done, it
	// may have been done the first time.
	again bool
}

// position is what an answer tells of the history of the cluster.
func (r *reply) position(wrote bool) protocol.Position {
	return protocol.Position{Lineage: clusterName(r.Header.GetClusterId()), Number: r.Header.GetRevision(), Wrote: wrote}
}

// clusterName is what is stored of a cluster's ID.
func clusterName(id uint64) string { return strconv.FormatUint(id, 16) }

// cluster is the name of the cluster that has answered last.
func (r *requests) cluster() string { return clusterName(r.known.Load()) }

// propose makes a transaction that may write. It may be sent more than once: whoever writes compares what the first
// one changes.
func (r *requests) propose(ctx context.Context, compare []clientv3.Cmp, then, orElse []clientv3.Op) (*reply, error) {
	return r.transact(ctx, false, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return r.client.Txn(ctx).If(compare...).Then(then...).Else(orElse...).Commit()
	})
}

// fetch reads several keys at one moment. Reading twice does no harm, so a broken
// connection is given another chance.
func (r *requests) fetch(ctx context.Context, ops ...clientv3.Op) (*reply, error) {
	return r.transact(ctx, true, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return r.client.Txn(ctx).Then(ops...).Commit()
	})
}

func (r *requests) transact(ctx context.Context, repeat bool, txn func(context.Context) (*clientv3.TxnResponse, error)) (*reply, error) {
	resp, sent, err := request(ctx, r, repeat, txn)
	if err != nil {
		return nil, err
	}
	r.known.Store(resp.Header.GetClusterId())
	return &reply{TxnResponse: resp, again: sent > 1}, nil
}

// request is ask with what surrounds every request: the client waits longer and longer
// between attempts to connect, and whoever makes a request has waited already.
func request[T any](ctx context.Context, r *requests, repeat bool, do func(context.Context) (T, error)) (answer T, sent int, err error) {
	if r.unwell.Load() {
		r.client.ActiveConnection().ResetConnectBackoff()
	}
	answer, sent, err = ask(ctx, &r.pace, repeat, do)
	r.unwell.Store(err != nil && transient(err))
	return answer, sent, r.explain(ctx, err)
}

// grantLease makes the lease id, which lasts ttl. Doing it twice does no harm.
func (r *requests) grantLease(ctx context.Context, id clientv3.LeaseID, ttl time.Duration) error {
	_, _, err := request(ctx, r, true, func(ctx context.Context) (*pb.LeaseGrantResponse, error) {
		resp, err := clientv3.RetryLeaseClient(r.client).LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: int64(id), TTL: int64(ttl / time.Second)})
		return resp, clientv3.ContextError(ctx, err)
	})
	if errors.Is(err, rpctypes.ErrLeaseExist) {
		return nil // an earlier request has done it
	}
	return err
}

// newLeaseID returns an ID that nobody has, as etcd does itself for those who name none.
func newLeaseID() clientv3.LeaseID { return clientv3.LeaseID(1 + rand.Int64N(math.MaxInt64)) }

// keepAlive renews a lease. The stream of Client.KeepAlive has no deadline, so that a
// member that hangs would cost the lease.
func (r *requests) keepAlive(ctx context.Context, lease clientv3.LeaseID) error {
	_, _, err := request(ctx, r, true, func(ctx context.Context) (*clientv3.LeaseKeepAliveResponse, error) {
		return r.client.KeepAliveOnce(ctx, lease)
	})
	return err
}

// remaining returns how long a lease lasts at the longest if nobody renews it; ttl if
// the cluster does not say.
func (r *requests) remaining(ctx context.Context, lease clientv3.LeaseID, ttl time.Duration) time.Duration {
	resp, _, err := request(ctx, r, true, func(ctx context.Context) (*clientv3.LeaseTimeToLiveResponse, error) {
		return r.client.TimeToLive(ctx, lease)
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

// explain adds what an error of the client leaves out.
func (r *requests) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("%w: the etcd user may not read and write keys under %s; grant it a role that may: %w", coord.ErrInvalid, r.prefix, err)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return fmt.Errorf("%w: the etcd cluster wants a user and a password: %w", coord.ErrInvalid, err)
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return fmt.Errorf("%w: the etcd cluster refuses the user name or the password: %w", coord.ErrInvalid, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %s in time: %w%s", strings.Join(r.client.Endpoints(), ", "), err, r.connection(ctx))
	case transient(err):
		return fmt.Errorf("%s cannot serve now: %w%s", strings.Join(r.client.Endpoints(), ", "), err, r.connection(ctx))
	}
	return err
}

// connection tells what is wrong with the connection, if anything is: the client
// waits for one and then only says that time is up.
func (r *requests) connection(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortestCall)
	defer cancel()
	if err := diagnose(ctx, r.client); err != nil {
		return " (" + err.Error() + ")"
	}
	return ""
}
