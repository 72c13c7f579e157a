package etcd

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// view is what is stored of a worker ID, as it was seen last. The handle of a grant
// is a view: it saves reading, and nothing is decided on it, because every write
// compares its revisions. A view is not changed once others have it.
type view struct {
	era      int64 // of the memory, when it was read
	seen     int64 // when it was read, microseconds since 1970
	meta     protocol.Meta
	metaRev  int64
	slot     protocol.Slot
	slotRev  int64            // 0: there is no slot
	slotMade int64            // CreateRevision of the slot; 0: not known
	ownRev   int64            // CreateRevision of the owner key; 0: there is none
	lease    clientv3.LeaseID // of the owner key; 0: none
}

// viewOf returns the view that comes with a grant; nil if it is not this driver's or
// not of this grant.
func viewOf(g coord.Grant) *view {
	v, ok := g.Handle.(*view)
	if !ok || v == nil || v.slot.Worker != g.WorkerID || !v.holds(g.Token, g.Generation) {
		return nil
	}
	return v
}

// fresh is v if nothing was lost since it was read: what a holder keeps of the time
// before a loss is not what is stored, however high its revisions are.
func (c *Coordinator) fresh(v *view) *view {
	if v == nil || !c.memory.sound(v.era) {
		return nil
	}
	return v
}

// holds tells whether token and generation are those stored.
func (v *view) holds(token string, generation uint64) bool {
	return v.slotRev != 0 && v.slot.Holds(token, generation)
}

// grant returns the last stored piece as a grant.
func (v *view) grant() coord.Grant {
	return v.slot.Grant(v)
}

// gets are the operations that read a view; viewFrom reads their answers.
func (c *Coordinator) gets(id int) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpGet(c.keys.meta()),
		clientv3.OpGet(c.keys.owner(id)),
		clientv3.OpGet(c.keys.slot(id)),
	}
}

// unchanged compares what is stored with a view of it.
func (c *Coordinator) unchanged(id int, v *view) ([]clientv3.Cmp, error) {
	cmps := []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(c.keys.meta()), "=", v.metaRev),
		clientv3.Compare(clientv3.CreateRevision(c.keys.owner(id)), "=", v.ownRev),
		clientv3.Compare(clientv3.ModRevision(c.keys.slot(id)), "=", v.slotRev),
	}
	if v.slotRev == 0 {
		return cmps, nil
	}
	// Revisions are enough for as long as etcd keeps what it has. After a loss they
	// come again, for other contents: docs/guarantees.md, S9.
	value, err := protocol.Encode(v.slot)
	return append(cmps, clientv3.Compare(clientv3.Value(c.keys.slot(id)), "=", value)), err
}

// viewFrom decodes the answers to gets.
func (c *Coordinator) viewFrom(id int, resp *reply) (*view, error) {
	v := &view{era: resp.at.era, seen: resp.seen}
	var err error
	if v.meta, v.metaRev, err = c.metaOf(resp, 0); err != nil {
		return nil, err
	}
	if kv := one(resp, 1); kv != nil {
		v.ownRev, v.lease = kv.CreateRevision, clientv3.LeaseID(kv.Lease)
	}
	if v.slot, v.slotRev, err = c.slotOf(id, one(resp, 2)); err != nil {
		return nil, err
	}
	v.slotMade = one(resp, 2).GetCreateRevision()
	return v, nil
}

// slotOf decodes a slot; revision 0 if there is none.
func (c *Coordinator) slotOf(id int, kv *mvccpb.KeyValue) (protocol.Slot, int64, error) {
	if kv == nil {
		return protocol.Slot{}, 0, nil
	}
	s, err := decode[protocol.Slot](string(kv.Key), kv.Value)
	if err == nil && s.Worker != id {
		err = damaged(string(kv.Key), fmt.Errorf("worker is %d and the key is that of %d", s.Worker, id))
	}
	return s, kv.ModRevision, err
}

// look reads a view.
func (c *Coordinator) look(ctx context.Context, id int) (*view, error) {
	resp, err := c.fetch(ctx, c.gets(id)...)
	if err != nil {
		return nil, err
	}
	return c.viewFrom(id, resp)
}

// contradicts says what shows, if anything does, that writes were lost between two views
// of one worker ID; empty: nothing. What a view of an earlier era shows was dealt with,
// if this coordinator has raised the floor since, or if the loss on record explains it.
func (c *Coordinator) contradicts(known, now *view) string {
	why := backward(known, now)
	switch {
	case why == "" || c.memory.dealtWith(known.era):
		return ""
	case known.era != now.era && now.meta.Settles(known.meta.Loss.Nonce, known.seen, MaxHorizon, c.opts.SkewBound):
		return ""
	}
	return why
}

// backward says which of two views of one worker ID, of which the first was read
// before the second, cannot follow each other unless writes were lost: a slot is never
// deleted, no revision or generation falls, and each generation is granted once.
func backward(known, now *view) string {
	if known == nil || now == nil {
		return ""
	}
	was, is := known.slot, now.slot
	switch {
	case now.slotRev == 0:
		return fmt.Sprintf("the slot of worker ID %d is gone", was.Worker)
	case now.slotRev < known.slotRev:
		return fmt.Sprintf("the revision of worker ID %d's slot was %d and is %d", was.Worker, known.slotRev, now.slotRev)
	case known.slotMade != 0 && now.slotMade != known.slotMade:
		return fmt.Sprintf("the slot of worker ID %d was made at revision %d, and now it is one that was made at %d", was.Worker, known.slotMade, now.slotMade)
	case is.Generation < was.Generation:
		return fmt.Sprintf("the generation of worker ID %d was %d and is %d", was.Worker, was.Generation, is.Generation)
	case is.Generation == was.Generation && is.Token != was.Token && is.Token != "":
		return fmt.Sprintf("generation %d of worker ID %d was granted twice", is.Generation, was.Worker)
	case now.metaRev < known.metaRev:
		return fmt.Sprintf("the revision of the namespace was %d and is %d", known.metaRev, now.metaRev)
	case now.meta.Nonce != known.meta.Nonce:
		return "the namespace was deleted and made again"
	}
	return ""
}

// rangeOf returns the answer to the i-th operation, which is a read.
func rangeOf(resp *reply, i int) *pb.RangeResponse {
	if i < 0 || i >= len(resp.Responses) {
		return nil
	}
	return resp.Responses[i].GetResponseRange()
}

// one returns the key that the i-th operation read; nil if there was none.
func one(resp *reply, i int) *mvccpb.KeyValue {
	if kvs := rangeOf(resp, i).GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// madeAt returns the CreateRevision of the key that the first operation of a
// transaction has written, and before which it read what was there.
func madeAt(resp *reply) int64 {
	if len(resp.Responses) == 0 {
		return 0
	}
	put := resp.Responses[0].GetResponsePut()
	if put.GetPrevKv() == nil {
		return resp.Header.GetRevision()
	}
	return put.GetPrevKv().GetCreateRevision()
}
