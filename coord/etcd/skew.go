package etcd

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// samples is how many holders a clock is compared with.
	samples = 9
	// quorum is how many make a reference: of one peer alone, nobody can say who of
	// the two is wrong.
	quorum = 2
	// referenceName is what errors call the reference.
	referenceName = "the median of the holders"
)

// doubts is what a coordinator remembers while its clock disagrees with those of the
// holders. A dead holder is not a clock: its owner key lasts as long as its lease, and
// leases stand still while etcd is down. So only those count who have renewed since.
type doubts struct {
	mu    sync.Mutex
	era   int64
	since int64 // the revision at the first look; 0: the clocks agree
}

// first returns the revision at which the disagreement was met first, which is rev if
// it is new.
func (d *doubts) first(era, rev int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since == 0 || d.era != era {
		d.era, d.since = era, rev
	}
	return d.since
}

// clear notes that the clocks agree.
func (d *doubts) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = 0
}

// holder is an owner key on a lease, and its value.
type holder struct {
	rev   int64 // of its last renewal
	lease clientv3.LeaseID
	ownerRecord
}

// clockCheck is a clock reading that is to be compared with the holders' clocks.
type clockCheck struct {
	now  int64         // before the owner keys were read, microseconds since 1970
	took time.Duration // how much time has passed since
	at   sight
	rev  int64              // of the cluster, when the owner keys were read
	held []*mvccpb.KeyValue // owner keys on a lease
}

// checkClock compares a clock with the median of the holders' clocks at their last
// renewals. Those lie in the past, and because the leases are alive, not further than
// a TTL: a right clock is between the median and a TTL later, give or take the bound.
//
// Where it is not, the holders may be dead. Then the error says until when that is not
// known, and the next check counts those only who have renewed since this one.
func (c *Coordinator) checkClock(ctx context.Context, k clockCheck) error {
	if c.opts.OneMachine || len(k.held) < quorum {
		return nil
	}
	all, err := c.holders(k.held, 0)
	if err != nil {
		return err
	}
	low, high := reference(all, noLimit)
	first := k.compare(low, high, c.opts.SkewBound)
	if first == nil {
		c.doubts.clear()
		return nil
	}
	alive, err := c.holders(k.held, c.doubts.first(k.at.era, k.rev))
	if err != nil {
		return err
	}
	if len(alive) >= quorum {
		low, high = reference(alive, noLimit)
		return named(k.compare(low, high, c.opts.SkewBound), time.Time{})
	}
	return named(first, protocol.Time(k.now).Add(c.longest(ctx, all)))
}

// compare compares the clock with those of others, which are between low and high: any of
// its readings from before the owner keys were read until now will do. On a busy cluster
// holders renew while a newcomer waits for an answer.
func (k clockCheck) compare(low, high int64, bound time.Duration) error {
	reading := max(k.now, min(low, k.now+k.took.Microseconds()))
	return protocol.CheckClock(protocol.Span{Low: reading, High: reading}, protocol.Span{Low: low, High: high}, bound)
}

// named completes the error of [protocol.CheckClock].
func named(err error, until time.Time) error {
	if skew, ok := err.(*coord.ClockSkewError); ok { //nolint:errorlint // it is made here, and is not wrapped
		skew.Source, skew.Until = referenceName, until
	}
	return err
}

// longest returns how long the leases of holders last at the longest, if they are dead.
func (c *Coordinator) longest(ctx context.Context, holders []holder) time.Duration {
	left := make([]time.Duration, len(holders))
	var asked sync.WaitGroup
	for i, h := range holders {
		asked.Go(func() { left[i] = c.remaining(ctx, h.lease, h.ttl()) })
	}
	asked.Wait()
	return slices.Max(left)
}

// holders returns some of the owner keys that were written after a revision, evenly
// spread over the worker IDs.
func (c *Coordinator) holders(held []*mvccpb.KeyValue, since int64) ([]holder, error) {
	var newer []*mvccpb.KeyValue
	for _, kv := range held {
		if kv.ModRevision > since {
			newer = append(newer, kv)
		}
	}
	var out []holder
	for _, i := range spread(len(newer), samples) {
		o, err := decode[ownerRecord](string(newer[i].Key), newer[i].Value)
		if err != nil {
			return nil, err
		}
		out = append(out, holder{rev: newer[i].ModRevision, lease: clientv3.LeaseID(newer[i].Lease), ownerRecord: o})
	}
	return out, nil
}

// noLimit is for holders of whom nobody knows when they have renewed.
const noLimit = time.Duration(math.MaxInt64)

// reference returns between which times a right clock is, as far as the holders' last
// renewals tell, which are not longer ago than their TTL, nor than since: of an even
// number, the two in the middle bound the median. One holder with a long TTL stretches
// nothing.
func reference(holders []holder, since time.Duration) (low, high int64) {
	lows, highs := make([]int64, len(holders)), make([]int64, len(holders))
	for i, h := range holders {
		lows[i] = h.Renewed
		highs[i] = h.Renewed + min(h.ttl(), since).Microseconds()
	}
	slices.Sort(lows)
	slices.Sort(highs)
	return lows[(len(lows)-1)/2], highs[len(highs)/2]
}

// spread returns up to n indices of 0 to length-1, evenly spread.
func spread(length, n int) []int {
	n = min(n, length)
	out := make([]int, n)
	for i := range out {
		out[i] = i * length / n
	}
	return out
}
