package etcd

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// waiters is of how many holders it is asked when their leases end.
const waiters = 4

// expectedEnd is when a lease ends unless its holder renews it.
type expectedEnd struct {
	rev int64 // of the holder's last renewal
	end time.Time
}

// exhausted is the error if every worker ID of the share is held. Most likely the lease
// ends first that was not renewed for the longest time. When, only etcd knows: leases
// stand still while it is down, and begin anew with it.
func (a *acquisition) exhausted(ctx context.Context, s *survey) error {
	full := &coord.NoWorkerIDError{Namespace: a.namespace, Capacity: a.req.Workers.Count - s.retired, InUse: len(s.owned) - s.retired}
	oldest := slices.SortedFunc(slices.Values(s.held), func(x, y *mvccpb.KeyValue) int { return cmp.Compare(x.ModRevision, y.ModRevision) })
	oldest = oldest[:min(len(oldest), waiters)]
	ends, renewed := make([]time.Time, len(oldest)), make([]time.Time, len(oldest))
	var asked sync.WaitGroup
	for i, kv := range oldest {
		asked.Go(func() { ends[i], renewed[i] = a.endOf(ctx, kv) })
	}
	asked.Wait()
	for i, end := range ends {
		if full.Soonest.IsZero() || !end.IsZero() && end.Before(full.Soonest) {
			full.Soonest, full.LastSeen = end, renewed[i]
		}
	}
	if a.opts.OneMachine {
		// An embedded etcd ends and begins with the programs that use it: a holder that
		// renewed just now may have been killed together with it.
		full.LastSeen = time.Time{}
	}
	return full
}

// endOf returns when the lease of a holder ends unless it is renewed, and when it was
// renewed last, by the holder's clock; zero: unknown.
// While the holder shows no life the answer stays the same, so that whoever asks twice
// can tell.
func (a *acquisition) endOf(ctx context.Context, kv *mvccpb.KeyValue) (end, renewed time.Time) {
	id, err := workerOf(a.keys.owners(), string(kv.Key))
	if err != nil {
		return end, renewed
	}
	o, err := decode[ownerRecord](string(kv.Key), kv.Value)
	if err != nil {
		return end, renewed
	}
	renewed = protocol.Time(o.Renewed)
	end = protocol.Time(a.now).Add(a.remaining(ctx, clientv3.LeaseID(kv.Lease), o.ttl()))
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.ends[id]; ok && known.rev == kv.ModRevision && end.Before(known.end.Add(2*revokeTime)) {
		return known.end, renewed
	}
	a.ends[id] = expectedEnd{kv.ModRevision, end}
	return end, renewed
}
