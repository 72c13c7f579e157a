package etcd

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/record"
)

// view is what is stored of a worker ID, as it was seen last. The handle of a grant
// is a view: it saves reading, and nothing is decided on it, because every write
// compares its revisions. A view is not changed once others have it.
type view struct {
	era     int64 // of the memory, when it was read
	meta    record.Meta
	metaRev int64
	slot    record.Slot
	slotRev int64            // 0: there is no slot
	ownRev  int64            // CreateRevision of the owner key; 0: there is none
	lease   clientv3.LeaseID // of the owner key; 0: none
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
	value, err := record.Encode(v.slot)
	return append(cmps, clientv3.Compare(clientv3.Value(c.keys.slot(id)), "=", value)), err
}

// viewFrom decodes the answers to gets.
func (c *Coordinator) viewFrom(id int, resp *reply) (*view, error) {
	v := &view{era: resp.era}
	var err error
	if v.meta, v.metaRev, err = metaOf(one(resp, 0)); err != nil {
		return nil, err
	}
	if kv := one(resp, 1); kv != nil {
		v.ownRev, v.lease = kv.CreateRevision, clientv3.LeaseID(kv.Lease)
	}
	if v.slot, v.slotRev, err = c.slotOf(id, one(resp, 2)); err != nil {
		return nil, err
	}
	return v, nil
}

// slotOf decodes a slot; revision 0 if there is none.
func (c *Coordinator) slotOf(id int, kv *mvccpb.KeyValue) (record.Slot, int64, error) {
	if kv == nil {
		return record.Slot{}, 0, nil
	}
	s, err := decode[record.Slot](string(kv.Key), kv.Value)
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

// backward tells what shows, if anything does, that writes were lost between two
// views of one worker ID: a slot is never deleted, and no revision or generation
// falls. Views of two eras tell nothing: that loss was dealt with.
func backward(known, now *view) string {
	switch {
	case known == nil || now == nil || known.era != now.era:
		return ""
	case now.slotRev == 0:
		return fmt.Sprintf("the slot of worker ID %d is gone", known.slot.Worker)
	case now.slotRev < known.slotRev:
		return fmt.Sprintf("the revision of worker ID %d's slot was %d and is %d", known.slot.Worker, known.slotRev, now.slotRev)
	case now.slot.Generation < known.slot.Generation:
		return fmt.Sprintf("the generation of worker ID %d was %d and is %d", known.slot.Worker, known.slot.Generation, now.slot.Generation)
	case now.metaRev < known.metaRev:
		return fmt.Sprintf("the revision of the namespace was %d and is %d", known.metaRev, now.metaRev)
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
