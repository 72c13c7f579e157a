package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// heal raises the floor if writes of the cluster were lost, see rule 11 of package
// coord. Now is a clock reading to take into account beside this coordinator's own.
func (c *Coordinator) heal(ctx context.Context, now int64) error {
	if c.memory.loss() == "" {
		return nil
	}
	select {
	case c.memory.raising <- struct{}{}:
		defer func() { <-c.memory.raising }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for n := range raises {
		why := c.memory.loss()
		if why == "" {
			return nil // somebody else has done it
		}
		if err := lifetime.Pause(ctx, n); err != nil {
			return err
		}
		if done, err := c.raise(ctx, why, max(now, c.now())); done || err != nil {
			return err
		}
	}
	return errBusy
}

// raises is how often a call tries to raise the floor: after a loss, all processes that
// notice it try at the same time.
const raises = 20

// raise makes one attempt at raising the floor. It does nothing if somebody else has
// raised it, and what shows the loss was seen before that.
func (c *Coordinator) raise(ctx context.Context, why string, now int64) (done bool, err error) {
	ns, err := c.readNamespace(ctx)
	if err != nil {
		return false, err
	}
	if c.memory.severalClusters() {
		if err := c.checkOneCluster(ctx); err != nil {
			return false, err
		}
	}
	known := c.memory.known()
	meta, here := ns.meta, clusterName(ns.header.GetClusterId())
	switch {
	case ns.metaRev == 0 && (ns.slots > 0 || known == nil):
		return false, damaged(c.keys.meta(), errors.New("the key is missing and there are slots"))
	case ns.metaRev == 0:
		meta = *known
	case ns.cluster == here && c.memory.settle(ns.header, meta, ns.metaRev, c.opts.SkewBound):
		c.log.Info("the etcd cluster had lost writes; the floor was raised for that already",
			"namespace", c.namespace, "reason", why, "until", protocol.Stamp(meta.Scale().Micro(meta.Floor+1)))
		return true, nil
	}
	checked, doubtful, err := c.safeClock(ns, now)
	if err != nil {
		return false, err
	}
	meta = meta.AfterLoss(known, checked, MaxHorizon, c.opts.SkewBound)
	if doubtful { // before it is written: the reply may be lost
		c.memory.setDoubt(doubt{rev: ns.header.GetRevision(), when: monotonic(), mine: true})
	}
	resp, err := c.replaceMeta(ctx, ns, meta)
	if err != nil || !resp.Succeeded {
		return false, err
	}
	c.memory.forgive(resp.Header, meta, resp.Header.GetRevision())
	c.log.Error("the etcd cluster has lost writes; nothing is granted until the windows that may be lost with them are over",
		"namespace", c.namespace, "reason", why, "until", protocol.Stamp(meta.Scale().Micro(meta.Floor+1)))
	return true, nil
}

// replaceMeta puts a record of the namespace in the place of the one that was read, and
// the cluster's ID with it.
func (c *Coordinator) replaceMeta(ctx context.Context, ns namespaceState, meta protocol.Meta) (*reply, error) {
	value, err := protocol.Encode(meta)
	if err != nil {
		return nil, err
	}
	return c.propose(ctx,
		[]clientv3.Cmp{
			clientv3.Compare(clientv3.ModRevision(c.keys.meta()), "=", ns.metaRev),
			clientv3.Compare(clientv3.ModRevision(c.keys.cluster()), "=", ns.clusterRev),
		},
		[]clientv3.Op{
			clientv3.OpPut(c.keys.meta(), value),
			clientv3.OpPut(c.keys.cluster(), clusterName(ns.header.GetClusterId())),
		}, nil)
}

// safeClock returns the time to raise the floor with at once: the latest that it may
// be, since a floor that is too low protects nobody. It is doubtful if this clock is
// far from those of the other holders, or if there are too few of them to tell. Whether
// they are alive is not known yet: see settleDoubt.
func (c *Coordinator) safeClock(ns namespaceState, now int64) (safe int64, doubtful bool, err error) {
	others, err := c.holders(c.others(ns.held), 0)
	if err != nil || len(others) < quorum || c.opts.OneMachine {
		return now, !c.opts.OneMachine, err
	}
	low, high := reference(others, noLimit)
	doubtful = protocol.CheckClock(protocol.Span{Low: now, High: now}, protocol.Span{Low: low, High: high}, c.opts.SkewBound) != nil
	return max(now, protocol.ClockForFloor(now, protocol.Span{Low: low, High: high}, c.opts.SkewBound)), doubtful, nil
}

// settleDoubt lowers a floor that may have been raised too far, if two others have
// renewed since: they are alive, and their clocks tell how far it should reach. That the
// others are gone makes no clock right, least of all one that is behind theirs.
func (c *Coordinator) settleDoubt(ctx context.Context) error {
	since := c.memory.doubted()
	if since.rev == 0 {
		return nil
	}
	ns, err := c.readNamespace(ctx)
	if err != nil {
		return err
	}
	alive, err := c.holders(c.others(ns.held), since.rev)
	if err != nil || len(alive) < quorum {
		return err // too early to tell
	}
	// They have renewed since. The latest that a right clock may say counts, also where
	// they do not agree: a floor that is too low protects nobody.
	_, now := reference(alive, monotonic().Sub(since.when))
	if !since.mine {
		now = max(now, c.now())
	}
	lower, err := ns.meta.Lowered(now, MaxHorizon, c.opts.SkewBound)
	if ns.metaRev == 0 || errors.Is(err, coord.ErrNamespaceClosed) || err == nil && lower.Floor == ns.meta.Floor {
		c.memory.setDoubt(doubt{})
		return nil
	}
	if err != nil {
		return err
	}
	resp, err := c.replaceMeta(ctx, ns, lower)
	if err != nil || !resp.Succeeded {
		return err // the next call tries again
	}
	c.memory.setDoubt(doubt{})
	c.log.Error("the floor was raised too far by a clock that differs from those of the holders, and is lowered; set the clock of the machine that raised it",
		"namespace", c.namespace, "until", protocol.Stamp(lower.Scale().Micro(lower.Floor+1)))
	return nil
}

// question notes that the floor may have been raised too far, if it reaches further than
// this clock explains: whoever raised it with a wrong clock may be gone.
func (c *Coordinator) question(v *view) {
	lower, err := v.meta.Lowered(c.now()+2*c.opts.SkewBound.Microseconds(), MaxHorizon, c.opts.SkewBound)
	if err == nil && lower.Floor < v.meta.Floor && c.memory.doubted().rev == 0 && !c.opts.OneMachine {
		c.memory.setDoubt(doubt{rev: v.slotRev, when: monotonic()})
	}
}

// checkOneCluster reports whether all endpoints are of one cluster, as far as they
// answer. A client with endpoints of two would meet each of them in turn.
func (c *Coordinator) checkOneCluster(ctx context.Context) error {
	var said []string
	ids := map[uint64]bool{}
	for _, endpoint := range c.client.Endpoints() {
		status, err := c.statusOf(ctx, endpoint)
		if err != nil {
			continue
		}
		id := status.Header.GetClusterId()
		ids[id] = true
		said = append(said, fmt.Sprintf("%s is of cluster %x", endpoint, id))
	}
	if len(ids) > 1 {
		return fmt.Errorf("%w: the endpoints belong to different etcd clusters: %s; name the members of one", coord.ErrInvalid, strings.Join(said, ", "))
	}
	return nil
}

func (c *Coordinator) statusOf(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	return c.client.Status(ctx, endpoint)
}

// namespaceState is what is stored of the namespace itself.
type namespaceState struct {
	at         sight
	meta       protocol.Meta
	metaRev    int64 // 0: there is none
	cluster    string
	clusterRev int64
	slots      int64              // how many slots and owners there are
	held       []*mvccpb.KeyValue // owner keys on a lease
	header     *pb.ResponseHeader
}

// readNamespace reads the namespace's own keys, and who holds what.
func (c *Coordinator) readNamespace(ctx context.Context) (namespaceState, error) {
	resp, err := c.fetch(ctx,
		clientv3.OpGet(c.keys.meta()), clientv3.OpGet(c.keys.cluster()),
		clientv3.OpGet(c.keys.slots(), clientv3.WithPrefix(), clientv3.WithCountOnly()),
		clientv3.OpGet(c.keys.owners(), clientv3.WithPrefix()))
	if err != nil {
		return namespaceState{}, err
	}
	ns := namespaceState{at: resp.at, header: resp.Header, slots: rangeOf(resp, 2).GetCount() + rangeOf(resp, 3).GetCount()}
	if ns.meta, ns.metaRev, err = c.metaOf(resp, 0); err != nil {
		return ns, err
	}
	if kv := one(resp, 1); kv != nil {
		ns.cluster, ns.clusterRev = string(kv.Value), kv.ModRevision
	}
	for _, kv := range rangeOf(resp, 3).GetKvs() {
		if kv.Lease != 0 {
			ns.held = append(ns.held, kv)
		}
	}
	return ns, nil
}

// metaOf decodes the namespace's record, which is the i-th answer of a reply, and
// remembers it; revision 0 if there is none.
func (c *Coordinator) metaOf(resp *reply, i int) (protocol.Meta, int64, error) {
	kv := one(resp, i)
	if kv == nil {
		return protocol.Meta{}, 0, nil
	}
	m, err := decode[protocol.Meta](string(kv.Key), kv.Value)
	if err == nil {
		c.memory.know(resp.at, m, kv.ModRevision)
	}
	return m, kv.ModRevision, err
}
