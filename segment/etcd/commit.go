package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/segment"
)

// entry is a tag, with the other keys that were read in the same transaction.
type entry struct {
	record
	revision int64  // of the last change; 0: there is no such tag
	stored   string // the value

	cluster cluster
	naming  string         // the value of the cluster record
	crowded bool           // other programs made wishes for it
	wishes  []wish         // the oldest first
	take    int64          // how many numbers a change takes from Next on
	with    []clientv3.Op  // what a change does together with storing the tag
	same    []clientv3.Cmp // the condition for that
}

// check returns an error unless there is such a tag, and it may be used in this cluster.
func (e *entry) check(tag string) error {
	if e.revision == 0 {
		return fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
	}
	if e.cluster.Refused != "" && e.Accepted != e.cluster.Stamp {
		return &segment.StoreChangedError{
			Tag: tag, Was: e.cluster.Refused, Here: "cluster " + e.cluster.Cluster,
		}
	}
	return nil
}

const (
	// patience is the number of conflicts after which a take makes a wish.
	patience = 2
	// pauseStep is added to the longest pause with each conflict, up to mostPauses times.
	pauseStep  = 5 * time.Millisecond
	mostPauses = 10
)

// change stores a tag as f changes it, and repeats that while other programs are faster. It returns
// the range that f takes, or that another program took for this call.
func (s *Store) change(ctx context.Context, tag string, f func(e *entry) error,
) (segment.Range, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return segment.Range{}, err
	}
	defer end()
	e, old := s.lastOf(tag)
	if !old {
		e, err = s.read(ctx, tag)
	}
	own := ""
	defer func() { s.withdraw(ctx, own) }()
	conflicts := 0
	if e.crowded {
		conflicts = patience
	}
	for ; err == nil; conflicts++ {
		if r, granted := e.granted(own); granted && s.handOut(tag, r) {
			e.crowded = true
			s.remember(tag, e)
			return r, nil
		}
		after, done := e, false
		err = f(&after)
		if err != nil && old { // other programs may have changed it since
			old = false
			e, err = s.read(ctx, tag)
			continue
		}
		if err != nil {
			break
		}
		old = false
		if conflicts == patience && after.take > 0 {
			own, e, err = s.wish(ctx, tag, after.take)
			continue
		}
		if conflicts > patience+1 {
			pause(ctx, conflicts)
		}
		r := segment.Range{First: e.Next, Last: e.Next + after.take - 1}
		after.serve(own)
		if e, done, err = s.commit(ctx, tag, e, after); done {
			own = ""
			s.handOut(tag, r)
			return r, nil
		}
	}
	return segment.Range{}, err
}

// pause waits for a random time.
func pause(ctx context.Context, conflicts int) {
	ctx, cancel := context.WithTimeout(ctx,
		rand.N(pauseStep*time.Duration(min(conflicts, mostPauses))))
	defer cancel()
	<-ctx.Done()
}

// lastOf returns a tag as it was seen last.
func (s *Store) lastOf(tag string) (entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.known[tag]
	return e, ok
}

// remember notes a tag as it was seen.
func (s *Store) remember(tag string, e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.wishes = nil
	s.known[tag] = e
}

// forget has a tag read again.
func (s *Store) forget(tag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, tag)
}

// handOut notes that a range of a tag is handed out, and reports whether it is above every other
// one that was.
func (s *Store) handOut(tag string, r segment.Range) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.First < s.used[tag] {
		return false
	}
	s.used[tag] = r.Last + 1
	return true
}

// gets are the operations that read an entry.
func (s *Store) gets(tag string) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpGet(s.clusterKey()), clientv3.OpGet(s.key(tag)),
		clientv3.OpGet(s.wishesOf(tag), clientv3.WithPrefix(), clientv3.WithLimit(mostWishes),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)),
	}
}

// read reads a tag, after doing some operations in the same transaction.
func (s *Store) read(ctx context.Context, tag string, before ...clientv3.Op) (entry, error) {
	sent := s.sight()
	resp, err := s.client.Txn(ctx).Then(append(before, s.gets(tag)...)...).Commit()
	if err != nil {
		return entry{}, s.explain(ctx, err)
	}
	return s.seen(ctx, tag, resp.Header, resp.Responses[len(before):], sent)
}

// seen returns the entry in an answer, or after the cluster record was settled, what is stored then.
func (s *Store) seen(ctx context.Context, tag string, h *pb.ResponseHeader,
	answers []*pb.ResponseOp, sent sight,
) (e entry, err error) {
	for _, kv := range answers[0].GetResponseRange().Kvs {
		e.naming = string(kv.Value)
		if err := decode(s.clusterKey(), kv.Value, &e.cluster, &e.cluster.Version); err != nil {
			return e, err
		}
	}
	if !s.agrees(h, e.cluster, sent) {
		if err := s.settle(ctx, h, e.naming, e.cluster, sent); err != nil {
			return e, err
		}
		return s.read(ctx, tag)
	}
	for _, kv := range answers[1].GetResponseRange().Kvs {
		e.revision, e.stored = kv.ModRevision, string(kv.Value)
		if err := decode(s.key(tag), kv.Value, &e.record, &e.Version); err != nil {
			return e, err
		}
	}
	for _, kv := range answers[2].GetResponseRange().Kvs {
		e.wishes = append(e.wishes, wish{string(kv.Key), string(kv.Value), kv.ModRevision})
	}
	e.include(e.cluster)
	return e, nil
}

// commit stores a tag as it is after a change, if everything is stored as it was before; otherwise it
// returns what is. The tag's value is compared together with its revision, because a cluster that
// went back has the same revisions again.
func (s *Store) commit(ctx context.Context, tag string, before, after entry) (now entry, done bool,
	err error,
) {
	key, sent := s.key(tag), s.sight()
	after.Version, after.Updated = formatVersion, time.Now().Unix()
	after.Cluster = after.cluster.Cluster
	after.stored = encode(after.record)
	same := append(after.same, s.unchanged(before.naming),
		clientv3.Compare(clientv3.ModRevision(key), "=", before.revision))
	if before.revision != 0 {
		same = append(same, clientv3.Compare(clientv3.Value(key), "=", before.stored))
	}
	then := append(after.with, clientv3.OpPut(key, after.stored),
		clientv3.OpGet(s.wishesOf(tag), clientv3.WithPrefix(), clientv3.WithCountOnly()))
	resp, err := s.client.Txn(ctx).If(same...).Then(then...).Else(s.gets(tag)...).Commit()
	if err != nil {
		s.forget(tag) // the outcome is unknown
		return before, false, s.explain(ctx, err)
	}
	if !resp.Succeeded {
		now, err = s.seen(ctx, tag, resp.Header, resp.Responses, sent)
		return now, false, err
	}
	if !s.agrees(resp.Header, before.cluster, sent) {
		s.forget(tag)
		now, err = s.read(ctx, tag)
		return now, false, err
	}
	now = entry{
		record: after.record, revision: resp.Header.Revision, stored: after.stored,
		cluster: before.cluster, naming: before.naming,
		crowded: resp.Responses[len(then)-1].GetResponseRange().Count > 0,
	}
	s.remember(tag, now)
	return now, true, nil
}
