package etcd

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// lease is one that a session has made for an owner key, until that is known to be on it.
type lease struct {
	id    clientv3.LeaseID // 0: there is none
	alive time.Time        // when it was last seen, monotonic; zero: it may not be made yet
	// it may carry an owner key: the answer to that transaction was lost, or is awaited
	sent bool
}

// needLease returns a lease to put an owner key on, and makes it if need be.
func (s *session) needLease(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	s.mu.Lock()
	if s.lease.id == 0 {
		s.lease.id = newLeaseID() //mutant:etcd-lease-id
	}
	l := s.lease
	s.mu.Unlock()
	var err error
	switch {
	case l.alive.IsZero():
		err = s.grantLease(ctx, l.id, ttl)
	case lifetime.Since(l.alive) < ttl/3:
		return l.id, nil
	default:
		if err = s.keepAlive(ctx, l.id); errors.Is(err, rpctypes.ErrLeaseNotFound) {
			s.forget(l.id)
			return s.needLease(ctx, ttl)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.lease.id == l.id {
		s.lease.alive = lifetime.Now()
	}
	return l.id, err
}

// forget notes that a lease is a grant's, or is over.
func (s *session) forget(id clientv3.LeaseID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.id == id {
		s.lease = lease{}
	}
}

// drop revokes a lease that carries nothing, in the background.
func (s *session) drop(id clientv3.LeaseID) {
	if id != 0 {
		s.life.Spawn(func() { s.revoke(context.Background(), id) })
	}
}

// revoke ends a lease. If that fails, it ends by itself.
func (s *session) revoke(ctx context.Context, id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	_, _ = s.client.Revoke(ctx, id)
}

// Leases implements [protocol.Session]: only etcd knows when a lease ends, since leases
// stand still while it is down, and begin anew with it.
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) []protocol.Lease {
	holders = holders[:min(len(holders), askedAtOnce)]
	all := make([]protocol.Lease, len(holders))
	var asked sync.WaitGroup
	for i, h := range holders {
		asked.Go(func() {
			mark, err := h.Mark()
			lease, ok := h.Lease.(clientv3.LeaseID)
			if err != nil || !ok {
				return
			}
			all[i] = protocol.Lease{
				Worker: h.Worker, Renewed: mark.Renewed, TTL: mark.Lease(),
				Left: s.remaining(ctx, lease, mark.Lease()),
			}
		})
	}
	asked.Wait()
	return slices.DeleteFunc(all, func(l protocol.Lease) bool { return l.TTL == 0 })
}

// askedAtOnce is of how many holders it is asked at once when their leases end.
const askedAtOnce = 3

// grantLease makes the lease id, which lasts ttl. Doing it twice does no harm.
func (st *store) grantLease(ctx context.Context, id clientv3.LeaseID, ttl time.Duration) error {
	_, _, err := request(ctx, st, true, func(ctx context.Context) (*pb.LeaseGrantResponse, error) {
		resp, err := clientv3.RetryLeaseClient(st.client).LeaseGrant(ctx,
			&pb.LeaseGrantRequest{ID: int64(id), TTL: int64(ttl / time.Second)})
		return resp, clientv3.ContextError(ctx, err)
	})
	if errors.Is(err, rpctypes.ErrLeaseExist) {
		return nil // an earlier request has done it
	}
	return err
}

// newLeaseID returns an ID that nobody has, as etcd does itself for those who name none. It is
// never used again: a request of before, to revoke it for example, may arrive late.
func newLeaseID() clientv3.LeaseID { return clientv3.LeaseID(1 + rand.Int64N(math.MaxInt64)) }

// keepAlive renews a lease. The stream of Client.KeepAlive has no deadline, so that a
// member that hangs would cost the lease.
func (st *store) keepAlive(ctx context.Context, lease clientv3.LeaseID) error {
	_, _, err := request(ctx, st, true, func(ctx context.Context) (*clientv3.LeaseKeepAliveResponse,
		error,
	) {
		return st.client.KeepAliveOnce(ctx, lease)
	})
	return err
}

// remaining returns how long a lease lasts at the longest if nobody renews it; ttl if
// the cluster does not say.
func (st *store) remaining(ctx context.Context, lease clientv3.LeaseID,
	ttl time.Duration,
) time.Duration {
	resp, _, err := request(ctx, st, true,
		func(ctx context.Context) (*clientv3.LeaseTimeToLiveResponse, error) {
			return st.client.TimeToLive(ctx, lease)
		})
	if err != nil {
		return ttl + revokeTime
	}
	return time.Duration(max(resp.TTL, 0))*time.Second + revokeTime
}

// revokeTime is by how much etcd is late at the most with the end of a lease: it tells
// whole seconds, and looks for leases that have ended twice a second.
const revokeTime = 2 * time.Second
