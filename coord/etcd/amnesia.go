package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/record"
)

// memory is what a coordinator has seen of its cluster. Revisions of etcd only
// rise, and a cluster keeps its ID; where that is not so, writes were lost, and
// windows with them.
//
// Each loss that was dealt with begins an era: what was seen before it tells nothing of
// what comes after.
type memory struct {
	mu      sync.Mutex
	era     int64
	cluster uint64
	highest int64
	lost    string // what shows that writes were lost; empty: nothing does
	meta    *record.Meta
	raising chan struct{} // held while the floor is raised, so that it is raised once
}

func newMemory() *memory { return &memory{raising: make(chan struct{}, 1)} }

// sight is the highest revision that had been seen at one moment. The reply to a request
// made after it that has a lower one is proof of a loss.
type sight struct{ era, highest int64 }

// sight returns what has been seen so far.
func (m *memory) sight() sight {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sight{m.era, m.highest}
}

// sound tells whether what was seen in an era can be relied on: nothing was lost since.
func (m *memory) sound(era int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.era == era && m.lost == ""
}

// learn takes note of the header of a reply, which answers a request made after a sight.
func (m *memory) learn(at sight, h *pb.ResponseHeader) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case at.era != m.era:
	case m.cluster != 0 && h.GetClusterId() != m.cluster:
		m.lost = fmt.Sprintf("the cluster's ID was %x and is %x", m.cluster, h.GetClusterId())
	case h.GetRevision() < at.highest:
		m.lost = fmt.Sprintf("the cluster's revision was %d and is %d", at.highest, h.GetRevision())
	default:
		m.cluster = h.GetClusterId()
		m.highest = max(m.highest, h.GetRevision())
	}
}

// clusterID returns the ID of the cluster; 0: no reply has come yet.
func (m *memory) clusterID() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cluster
}

// suspect takes note of another proof of a loss, which was found in an era.
func (m *memory) suspect(era int64, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if era == m.era {
		m.lost = why
	}
}

// loss returns what shows that writes were lost; empty: nothing does.
func (m *memory) loss() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// know remembers that the namespace exists.
func (m *memory) know(meta record.Meta) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meta = &meta
}

// known returns the namespace as it was seen last.
func (m *memory) known() *record.Meta {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.meta
}

// forgive starts again with the state that the cluster has now.
func (m *memory) forgive(h *pb.ResponseHeader, meta record.Meta) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cluster, m.highest, m.lost, m.meta = h.GetClusterId(), h.GetRevision(), "", &meta
	m.era++
}

// clusterName is what is stored of a cluster's ID.
func clusterName(id uint64) string { return strconv.FormatUint(id, 16) }

// ward is the tick until which windows that were forgotten can reach, if the loss is
// noticed now. The later one of two clocks counts.
func (c *Coordinator) ward(meta record.Meta, now int64) int64 {
	return meta.Ward(max(now, c.now()), MaxHorizon, c.opts.SkewBound)
}

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
		if done, err := c.raise(ctx, why, now); done || err != nil {
			return err
		}
	}
	return errBusy
}

// raises is how often a call tries to raise the floor: after a loss, all processes that
// notice it try at the same time.
const raises = 20

// raise makes one attempt at raising the floor.
func (c *Coordinator) raise(ctx context.Context, why string, now int64) (done bool, err error) {
	ns, err := c.readNamespace(ctx)
	if err != nil {
		return false, err
	}
	meta, created := ns.meta, ns.metaRev == 0
	if created {
		known := c.memory.known()
		if ns.slots > 0 || known == nil {
			return false, damaged(c.keys.meta(), errors.New("the key is missing and there are slots"))
		}
		meta = *known
	}
	meta.Floor = max(meta.Floor, c.ward(meta, now))
	value, err := record.Encode(meta)
	if err != nil {
		return false, err
	}
	resp, err := c.propose(ctx,
		[]clientv3.Cmp{
			clientv3.Compare(clientv3.ModRevision(c.keys.meta()), "=", ns.metaRev),
			clientv3.Compare(clientv3.ModRevision(c.keys.cluster()), "=", ns.clusterRev),
		},
		[]clientv3.Op{
			clientv3.OpPut(c.keys.meta(), value),
			clientv3.OpPut(c.keys.cluster(), clusterName(ns.header.GetClusterId())),
		}, nil)
	if err != nil || !resp.Succeeded {
		return false, err
	}
	c.memory.forgive(resp.Header, meta)
	c.log.Error("the etcd cluster has lost writes; nothing is granted until the windows that may be lost with them are over",
		"namespace", c.namespace, "reason", why, "until", record.Stamp(meta.Scale().Micro(meta.Floor+1)))
	return true, nil
}

// namespaceState is what is stored of the namespace itself.
type namespaceState struct {
	meta       record.Meta
	metaRev    int64 // 0: there is none
	cluster    string
	clusterRev int64
	slots      int64 // how many slots and owners there are
	header     *pb.ResponseHeader
}

// readNamespace reads the namespace's own keys.
func (c *Coordinator) readNamespace(ctx context.Context) (namespaceState, error) {
	resp, err := c.fetch(ctx,
		clientv3.OpGet(c.keys.meta()), clientv3.OpGet(c.keys.cluster()),
		clientv3.OpGet(c.keys.slots(), clientv3.WithPrefix(), clientv3.WithCountOnly()),
		clientv3.OpGet(c.keys.owners(), clientv3.WithPrefix(), clientv3.WithCountOnly()))
	if err != nil {
		return namespaceState{}, err
	}
	ns := namespaceState{header: resp.Header, slots: rangeOf(resp, 2).GetCount() + rangeOf(resp, 3).GetCount()}
	if ns.meta, ns.metaRev, err = metaOf(one(resp, 0)); err != nil {
		return ns, err
	}
	if kv := one(resp, 1); kv != nil {
		ns.cluster, ns.clusterRev = string(kv.Value), kv.ModRevision
	}
	return ns, nil
}

// metaOf decodes the namespace's record; revision 0 if there is none.
func metaOf(kv *mvccpb.KeyValue) (record.Meta, int64, error) {
	if kv == nil {
		return record.Meta{}, 0, nil
	}
	m, err := decode[record.Meta](string(kv.Key), kv.Value)
	return m, kv.ModRevision, err
}
