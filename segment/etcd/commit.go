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
	stored  string // the value; empty: there is no such tag
	cluster cluster
	naming  string // the value of the cluster record
	wishes  []wish // the oldest first
	take    int64  // how many numbers a change takes from Next on
	crowded bool   // there were wishes after the last change
}

// check returns an error unless there is such a tag, and it may be used in this cluster.
func (e *entry) check(tag string) error {
	if e.stored == "" {
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
) (r segment.Range, err error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return r, err
	}
	defer end()
	e, old := s.seenLast(tag)
	if !old {
		e, err = s.read(ctx, tag)
	}
	conflicts := 0
	if e.crowded {
		conflicts = patience
	}
	var own wish
	defer func() { s.withdraw(ctx, own) }()
	for done := false; err == nil; conflicts++ {
		if r, granted := e.granted(own); granted && s.handOut(tag, e, r) {
			return r, nil
		}
		after := e
		err = f(&after)
		if err != nil && old { // other programs may have changed it since
			old = false
			e, err = s.read(ctx, tag)
			continue
		}
		old = false
		if err == nil && conflicts == patience && after.take > 0 {
			own, e, err = s.wish(ctx, tag, after.take)
			continue
		}
		if err != nil {
			return r, err
		}
		if conflicts > patience+1 {
			pause(ctx, conflicts)
		}
		r := segment.Range{First: e.Next, Last: e.Next + after.take - 1}
		if e, done, err = s.commit(ctx, tag, e, after, own); done {
			own = wish{}
			s.handOut(tag, e, r)
			return r, nil
		}
	}
	return r, err
}

// pause waits for a random time.
func pause(ctx context.Context, conflicts int) {
	ctx, cancel := context.WithTimeout(ctx,
		rand.N(pauseStep*time.Duration(min(conflicts, mostPauses))))
	defer cancel()
	<-ctx.Done()
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
	s.known[tag] = e
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

// read reads a tag, after other operations of the same transaction.
func (s *Store) read(ctx context.Context, tag string, before ...clientv3.Op) (entry, error) {
	sent := s.sight()
	resp, err := s.client.Txn(ctx).Then(append(before, s.gets(tag)...)...).Commit()
	if err != nil {
		return entry{}, s.explain(ctx, err)
	}
	return s.seen(ctx, tag, resp.Header, resp.Responses[len(before):], sent)
}

// seen returns the entry in an answer, or after settling the cluster record, the entry then.
func (s *Store) seen(ctx context.Context, tag string, h *pb.ResponseHeader,
	answers []*pb.ResponseOp, sent sight,
) (e entry, err error) {
	e.naming, err = decode(answers[0].GetResponseRange().Kvs, &e.cluster, &e.cluster.Version)
	if err != nil {
		return e, err
	}
	if !s.agrees(h, e.cluster, sent) {
		if err := s.settle(ctx, clusterOf(h), e.naming, e.cluster, sent); err != nil {
			return e, err
		}
		return s.read(ctx, tag)
	}
	for _, kv := range answers[2].GetResponseRange().Kvs {
		e.wishes = append(e.wishes, wish{key: string(kv.Key), text: string(kv.Value)})
	}
	e.stored, err = decode(answers[1].GetResponseRange().Kvs, &e.record, &e.Version)
	e.include(e.cluster)
	return e, err
}

// commit stores a tag as it is after a change and serves wishes, if everything is stored as it was
// before. It returns the entry then.
func (s *Store) commit(ctx context.Context, tag string, before, after entry, own wish,
) (e entry, done bool, err error) {
	sent := s.sight()
	same, with := after.serve(own)
	after.Version = formatVersion
	after.Updated = time.Now().Unix()
	after.Cluster = after.cluster.Cluster
	after.Write = rand.Uint64()
	after.stored = encode(after.record)
	after.take = 0
	with = append(with, clientv3.OpPut(s.key(tag), after.stored),
		clientv3.OpGet(s.wishesOf(tag), clientv3.WithPrefix(), clientv3.WithCountOnly()))
	resp, err := s.client.Txn(ctx).If(append(same, unchanged(s.clusterKey(), before.naming),
		unchanged(s.key(tag), before.stored))...).Then(with...).Else(s.gets(tag)...).Commit()
	if err != nil {
		return before, false, s.explain(ctx, err) // the outcome is unknown
	}
	if !resp.Succeeded {
		e, err = s.seen(ctx, tag, resp.Header, resp.Responses, sent)
	} else if s.agrees(resp.Header, before.cluster, sent) {
		after.crowded = resp.Responses[len(with)-1].GetResponseRange().Count > 0
		return after, true, nil
	} else {
		e, err = s.read(ctx, tag)
	}
	return e, false, err
}
