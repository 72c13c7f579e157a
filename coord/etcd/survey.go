package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// survey is what an acquisition learns with its first call: everything but the slots.
type survey struct {
	at       sight // before it
	rev      int64 // of the cluster
	era      int64 // of the memory
	meta     protocol.Meta
	metaRev  int64
	settled  bool  // the namespace's cluster is on record
	ticket   int64 // from 0 on, without gaps
	token    *mvccpb.KeyValue
	identity *mvccpb.KeyValue
	owned    []int              // worker IDs of the share that cannot be had, in ascending order
	retired  int                // of those, taken out of use
	held     []*mvccpb.KeyValue // the owner keys of those that are not
}

// survey draws a ticket, if it has none yet, and reads the namespace, in one step. A
// namespace that is not there is made.
func (a *acquisition) survey(ctx context.Context) (*survey, error) {
	c, req := a.Coordinator, a.req
	fresh, err := protocol.Encode(c.firstMeta(req, a.now))
	if err != nil {
		return nil, err
	}
	draw, share := clientv3.OpPut(c.keys.ticket(), ""), req.Workers
	if a.ticket != noTicket {
		draw = clientv3.OpGet(c.keys.ticket())
	}
	reads := []clientv3.Op{
		draw,
		clientv3.OpGet(c.keys.ticket()),
		clientv3.OpGet(c.keys.meta()),
		clientv3.OpGet(c.keys.cluster()),
		clientv3.OpGet(c.keys.token(req.Token)),
		clientv3.OpGet(c.keys.owner(share.First), clientv3.WithRange(c.keys.owner(share.First+share.Count))),
	}
	if req.Identity != "" {
		reads = append(reads, clientv3.OpGet(c.keys.identity(req.Identity)))
	}
	create := append([]clientv3.Op{clientv3.OpPut(c.keys.meta(), fresh)}, reads...)
	resp, err := c.propose(ctx, c.absent(), create, reads)
	if err != nil {
		return nil, err
	}
	if resp.Succeeded {
		resp.Responses = resp.Responses[1:]
	}
	s := &survey{at: resp.at, rev: resp.Header.GetRevision(), era: resp.at.era}
	if err := a.readMeta(resp, s); err != nil {
		return nil, err
	}
	if kv := one(resp, 1); kv != nil && a.ticket == noTicket {
		a.ticket = max(kv.Version-1, 0)
	}
	s.ticket = max(a.ticket, 0)
	if kv := one(resp, 3); kv != nil {
		s.settled = true
		if now := clusterName(resp.Header.GetClusterId()); string(kv.Value) != now {
			c.memory.foreign(s.era, fmt.Sprintf("the cluster's ID was %s and is %s", kv.Value, now))
		}
	}
	s.token, s.identity = one(resp, 4), one(resp, 6)
	return s, s.readOwners(c.keys.owners(), rangeOf(resp, 5).GetKvs())
}

// readMeta takes the namespace's record from the answer to a survey. If it was made
// here although it is known, that is how the loss of the old one is dealt with.
func (a *acquisition) readMeta(resp *reply, s *survey) (err error) {
	if kv := one(resp, 2); resp.Succeeded && resp.at.meta != nil && kv != nil {
		if s.meta, err = decode[protocol.Meta](string(kv.Key), kv.Value); err != nil {
			return err
		}
		s.metaRev = kv.ModRevision
		s.era = a.memory.forgive(resp.Header, s.meta, s.metaRev)
		if !a.opts.OneMachine { // nobody's clock could be compared
			a.memory.setDoubt(doubt{rev: s.metaRev, when: monotonic(), mine: true})
		}
		a.log.Error("the namespace was deleted and is made again; nothing is granted until the windows that may be lost with it are over",
			"namespace", a.namespace, "until", protocol.Stamp(s.meta.Scale().Micro(s.meta.Floor+1)))
		return nil
	}
	if s.meta, s.metaRev, err = a.metaOf(resp, 2); err == nil && s.metaRev == 0 {
		err = damaged(a.keys.meta(), errors.New("the key is missing and there are slots"))
	}
	return err
}

// absent compares true if the namespace is not there, nor any part of it.
func (c *Coordinator) absent() []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(c.keys.meta()), "=", 0),
		clientv3.Compare(clientv3.CreateRevision(c.keys.slots()), "=", 0).WithPrefix(),
		clientv3.Compare(clientv3.CreateRevision(c.keys.owners()), "=", 0).WithPrefix(),
	}
}

// firstMeta is the record of a namespace that is made for a request. If this
// coordinator remembers the namespace, it has not been new but lost.
func (c *Coordinator) firstMeta(req coord.Request, now int64) protocol.Meta {
	m := protocol.NewMeta(protocol.SpaceOf(req))
	if known := c.memory.known(); known != nil {
		m = m.AfterLoss(known, max(now, c.now()), MaxHorizon, c.opts.SkewBound)
	}
	return m
}

// readOwners takes note of who holds what.
func (s *survey) readOwners(folder string, kvs []*mvccpb.KeyValue) error {
	s.owned = make([]int, 0, len(kvs))
	for _, kv := range kvs {
		id, err := workerOf(folder, string(kv.Key))
		if err != nil {
			return err
		}
		s.owned = append(s.owned, id)
		if kv.Lease == 0 {
			s.retired++
		} else {
			s.held = append(s.held, kv)
		}
	}
	return nil
}
