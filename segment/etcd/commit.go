package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/tagstore"
	"github.com/unalike-id/unalike/segment"
)

// entry is a tag, with the other keys that were read in the same transaction.
type entry struct {
	record
	stored  string // the value; empty: there is no such tag
	cluster cluster
	naming  string // the value of the cluster record
	wishes  []wish // of other calls, the oldest first
	served  bool   // the own wish, with the range granted
	granted segment.Range

	used    int64 // above each number that this store has handed out
	crowded bool  // there were wishes after the last change
}

const (
	// conflictsBeforeWish is the number of conflicts after which a take makes a wish.
	conflictsBeforeWish = 2
	// mostPause is the longest pause between later conflicts.
	mostPause = 25 * time.Millisecond
)

// change stores a tag as f changes it, and repeats that while other programs are faster. It returns
// the range that f takes, or that another program took for this call.
func (s *Store) change(ctx context.Context, c tagstore.Call, f tagstore.Change,
) (r segment.Range, err error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return r, err
	}
	defer end()
	leave, err := s.enter(ctx, c.Tag)
	if err != nil {
		return r, err
	}
	defer leave()
	e, old := s.expected(c.Tag)
	if !old {
		e, err = s.read(ctx, c.Tag, "")
	}
	conflicts := 0
	if e.crowded {
		conflicts = conflictsBeforeWish
	}
	own := "" // the ID of the wish
	for done := false; err == nil; conflicts++ {
		if e.served && s.handOut(c.Tag, e, e.granted) {
			return e.granted, nil
		}
		after := e
		var take int64
		if take, err = s.apply(&after, c, f); err != nil && old {
			// other programs may have changed it since
			e, err = s.read(ctx, c.Tag, own)
		} else if err == nil && conflicts == conflictsBeforeWish && take > 0 {
			own, e, err = s.wish(ctx, c.Tag, take)
		} else if err == nil {
			if conflicts > conflictsBeforeWish+1 {
				time.Sleep(rand.N(mostPause))
			}
			r := segment.Range{First: after.Next - take, Last: after.Next - 1}
			back := after.Used > e.Used
			if e, done, err = s.commit(ctx, c.Tag, e, after, take > 0, own); done && !back {
				s.handOut(c.Tag, e, r)
				return r, nil
			}
		}
		old = false
	}
	s.expect(c.Tag, e)
	if own != "" {
		s.withdraw(ctx, c.Tag, own)
	}
	return segment.Range{}, err
}

// enter waits until no other call of this store changes a tag. The caller must call leave. A call
// throws away a range that was granted to it if the store has handed out a higher one, because a
// tag that went back looks the same.
func (s *Store) enter(ctx context.Context, tag string) (leave func(), err error) {
	s.mu.Lock()
	turn, there := s.turns[tag]
	if !there { //mutant:segment-etcd-turn
		turn = make(chan struct{}, 1)
		s.turns[tag] = turn
	}
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// apply has f change a tag that may be used, and returns how many numbers that takes. If the tag
// went back below numbers that were handed out, it only notes that, so that every program refuses
// the tag.
func (s *Store) apply(e *entry, c tagstore.Call, f tagstore.Change) (take int64, err error) {
	there := e.stored != ""
	if !there && !c.Create {
		return 0, tagstore.Unknown(c.Tag)
	}
	if c.Accept {
		e.Accepted = e.cluster.Stamp
		e.Next = max(e.Next, e.Used)
	} else if e.cluster.Refused != "" && e.Accepted != e.cluster.Stamp {
		return 0, &segment.StoreChangedError{
			Tag: c.Tag, Was: e.cluster.Refused, Here: "cluster " + e.cluster.Cluster,
		}
	}
	before := *e
	take, err = f(&e.Record, there, e.cluster.Shared)
	last, _ := s.seenLast(c.Tag)
	used := max(e.Used, last.used)
	if err != nil || take == 0 || before.Next >= used { //mutant:segment-etcd-used
		e.Skipped = e.cluster.Skipped
		return take, err
	}
	if before.Used == used {
		return 0, &segment.WentBackError{
			Tag: c.Tag, Got: segment.Range{First: before.Next, Last: e.Next - 1}, Above: used - 1,
		}
	}
	*e = before
	e.Used = used
	return 0, nil
}

// expected returns a tag as a call may find it, see expect, or as this store has left it.
func (s *Store) expected(tag string) (entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.tried[tag]; ok { //mutant:segment-etcd-tried
		return e, true
	}
	e, ok := s.known[tag]
	return e, ok
}

// expect notes how a tag may be stored after a call has failed: as that has read or written it, if
// it has, so that the next call may do with one request.
func (s *Store) expect(tag string, e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.stored == "" {
		e = s.known[tag]
	}
	if e.stored == "" {
		return
	}
	e.wishes, e.served, e.crowded = nil, false, false
	s.tried[tag] = e
}

// seenLast returns a tag as this store has left it.
func (s *Store) seenLast(tag string) (entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.known[tag]
	return e, ok
}

// handOut notes how a tag is left, and a range that is handed out. It reports whether that is above
// every other one.
func (s *Store) handOut(tag string, e entry, r segment.Range) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.used = s.known[tag].used
	e.wishes, e.served = nil, false
	above := r.First >= e.used
	if above && r.Len() > 0 {
		e.used = r.Last + 1
	}
	s.known[tag] = e
	delete(s.tried, tag)
	return above
}

// gets are the operations that read an entry, for a call with a wish.
func (s *Store) gets(tag, own string) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpGet(s.clusterKey()), clientv3.OpGet(s.key(tag)), clientv3.OpGet(s.grantKey(own)),
		clientv3.OpGet(s.wishKey(tag, ""), clientv3.WithPrefix(), clientv3.WithLimit(mostWishes),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)),
	}
}

// read reads a tag, after other operations of the same transaction.
func (s *Store) read(ctx context.Context, tag, own string, before ...clientv3.Op) (entry, error) {
	sent := s.observed()
	resp, err := s.client.Txn(ctx).Then(append(before, s.gets(tag, own)...)...).Commit()
	if err != nil {
		return entry{}, s.explain(ctx, err)
	}
	return s.seen(ctx, tag, own, resp.Header, resp.Responses[len(before):], sent)
}

// seen returns the entry in an answer. If the cluster record does not agree, it is replaced first.
func (s *Store) seen(ctx context.Context, tag, own string, h *pb.ResponseHeader,
	answers []*pb.ResponseOp, sent observed,
) (e entry, err error) {
	e.naming, err = decode(answers[0].GetResponseRange().Kvs, &e.cluster, &e.cluster.Version)
	if err != nil {
		return e, err
	}
	if !s.agrees(h, e.cluster, sent) {
		if err := s.adopt(ctx, clusterOf(h), e.naming, e.cluster, sent); err != nil {
			return e, err
		}
		return s.read(ctx, tag, own)
	}
	for _, kv := range answers[2].GetResponseRange().Kvs {
		_, err := fmt.Sscan(string(kv.Value), &e.granted.First, &e.granted.Last)
		e.served = err == nil
		e.crowded = true
	}
	for _, kv := range answers[3].GetResponseRange().Kvs {
		if id := strings.TrimPrefix(string(kv.Key), s.wishKey(tag, "")); id != own {
			e.wishes = append(e.wishes, wish{id, string(kv.Value)})
		}
		e.crowded = true
	}
	e.stored, err = decode(answers[1].GetResponseRange().Kvs, &e.record, &e.Version)
	e.include(e.cluster)
	return e, err
}

// commit stores a tag as it is after a change, if everything is stored as it was before. It removes
// the own wish, and serves those of others. It returns the entry then.
func (s *Store) commit(ctx context.Context, tag string, before, after entry, serves bool,
	own string,
) (e entry, done bool, err error) {
	sent := s.observed()
	var same []clientv3.Cmp
	var with []clientv3.Op
	if serves {
		same, with = s.serve(tag, &after)
	}
	after.Version = formatVersion
	after.Cluster = after.cluster.Cluster
	after.Write = rand.Uint64()
	after.stored = encode(after.record)
	with = append(with, clientv3.OpPut(s.key(tag), after.stored),
		clientv3.OpDelete(s.wishKey(tag, own)),
		clientv3.OpGet(s.wishKey(tag, ""), clientv3.WithPrefix(), clientv3.WithCountOnly()))
	resp, err := s.client.Txn(ctx).If(append(same, unchanged(s.clusterKey(), before.naming),
		unchanged(s.key(tag), before.stored))...).Then(with...).Else(s.gets(tag, own)...).Commit()
	if err != nil {
		return after, false, s.explain(ctx, err) // the outcome is unknown
	}
	if !resp.Succeeded {
		e, err = s.seen(ctx, tag, own, resp.Header, resp.Responses, sent)
		return e, false, err
	}
	if !s.agrees(resp.Header, before.cluster, sent) {
		e, err = s.read(ctx, tag, own)
		return e, false, err
	}
	after.crowded = resp.Responses[len(with)-1].GetResponseRange().Count > 0
	return after, true, nil
}
