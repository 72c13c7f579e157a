package etcd

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/segment"
)

// barges is after how many conflicts a call stands in line.
const barges = 2

// change changes a tag, again and again until nobody else is faster. Anywhere says that the tag is
// as it should be on the cluster where it is now.
func (s *Store) change(ctx context.Context, tag string, anywhere bool,
	f func(e *entry) error,
) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	before, there := s.last(tag)
	if !there || anywhere {
		if before, err = s.read(ctx, tag, anywhere); err != nil {
			return err
		}
	}
	var place *line
	for conflicts := 0; ; conflicts++ {
		after := before
		if refusal := f(&after); refusal != nil {
			place.leave(ctx)
			// What was seen last may be old.
			if now, err := s.read(ctx, tag, anywhere); err == nil && now.revision != before.revision {
				before, place = now, nil
				continue
			}
			return refusal
		}
		if place == nil && (before.Line || conflicts >= barges) {
			var err error
			if place, before, err = s.standInLine(ctx, tag, anywhere); err != nil {
				place.leave(ctx)
				return err
			}
			continue
		}
		after.Line = place != nil && place.others
		now, done, err := s.commit(ctx, tag, before, after, anywhere, place.end()...)
		if err != nil {
			place.leave(ctx)
		}
		if err != nil || done {
			return err
		}
		before = now
	}
}

// last returns what was seen of a tag last.
func (s *Store) last(tag string) (e entry, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, there = s.known[tag]
	return e, there
}

// read reads a tag.
func (s *Store) read(ctx context.Context, tag string, anywhere bool) (entry, error) {
	sent := s.sights()
	resp, err := s.client.Get(ctx, s.key(tag))
	if err != nil {
		return entry{}, s.explain(ctx, err)
	}
	return s.seen(tag, resp.Header, resp.Kvs, sent, anywhere)
}

// commit stores a tag, if what is stored is as before says; else it returns what that is. The value
// is compared together with its revision, because revisions come again in a cluster that has gone
// back. What is done with it is done if that is.
func (s *Store) commit(ctx context.Context, tag string, before, after entry, anywhere bool,
	with ...clientv3.Op,
) (now entry, done bool, err error) {
	key, sent := s.key(tag), s.sights()
	value, err := after.encode(time.Now())
	if err != nil {
		return now, false, err
	}
	compare := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", before.revision)}
	if before.revision != 0 {
		compare = append(compare, clientv3.Compare(clientv3.Value(key), "=", before.stored))
	}
	resp, err := s.client.Txn(ctx).If(compare...).Then(
		append(with, clientv3.OpPut(key, value))...).Else(clientv3.OpGet(key)).Commit()
	switch {
	case err != nil:
		s.forget(tag) // what became of it is not known
		return now, false, s.explain(ctx, err)
	case !resp.Succeeded:
		now, err = s.seen(tag, resp.Header, resp.Responses[0].GetResponseRange().Kvs, sent, anywhere)
		return now, false, err
	}
	after.revision, after.stored = resp.Header.Revision, value
	if err := s.compare(tag, resp.Header, after, sent); err != nil && !anywhere {
		s.forget(tag)
		return now, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[tag] = after
	return after, true, nil
}

// forget has a tag read anew.
func (s *Store) forget(tag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, tag)
}

// seen returns a tag as it is stored now. One that is not to be used here is an error, unless
// anywhere is true or numbers are to be skipped: then it is one of this cluster when it is stored
// again.
func (s *Store) seen(tag string, h *pb.ResponseHeader, kvs []*mvccpb.KeyValue,
	sent map[uint64]int64, anywhere bool,
) (e entry, err error) {
	if len(kvs) == 0 {
		s.forget(tag)
		return e, fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
	}
	if e.record, err = decode(string(kvs[0].Key), kvs[0].Value); err != nil {
		return e, err
	}
	e.revision, e.stored = kvs[0].ModRevision, string(kvs[0].Value)
	changed := s.compare(tag, h, e, sent)
	switch {
	case anywhere: // others may know of a change that this program has not seen
		e.Cluster = clusterOf(h)
		e.Accepted++
	case changed == nil:
	case s.skip > 0:
		s.log.Warn("the etcd cluster is not as it was; numbers are skipped", "tag", tag, "skipped",
			s.skip, "error", changed)
		e.Cluster = clusterOf(h)
		e.Accepted++
		if e.Next >= 0 { // otherwise it is damaged, which is not to be hidden
			e.Next += min(s.skip, math.MaxInt64-e.Next)
		}
	default:
		s.forget(tag)
		return e, changed
	}
	return e, nil
}

// sights returns the highest revision of each cluster that was seen until now.
func (s *Store) sights() map[uint64]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.highest)
}

// compare returns an error if a reply is not of the cluster where a tag is to be, or if that has
// gone back below what was seen before the request was sent. Then every tag has to be accepted,
// once, by somebody who advances it.
func (s *Store) compare(tag string, h *pb.ResponseHeader, e entry, sent map[uint64]int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, here := h.GetClusterId(), clusterOf(h)
	if h.Revision < sent[id] { //mutant:segment-etcd-back
		s.was, s.doubts = fmt.Sprintf("cluster %s at revision %d", here, sent[id]), map[string]int64{}
		clear(s.known)
		s.highest[id] = h.Revision
	}
	s.highest[id] = max(s.highest[id], h.Revision)
	if e.Cluster != here { //mutant:segment-etcd-cluster
		return &segment.StoreChangedError{Tag: tag, Was: "cluster " + e.Cluster, Here: "cluster " + here}
	}
	if s.doubts == nil {
		return nil
	}
	accepted, doubted := s.doubts[tag]
	if !doubted {
		s.doubts[tag], accepted = e.Accepted, e.Accepted
	}
	if e.Accepted <= accepted {
		return &segment.StoreChangedError{Tag: tag, Was: s.was, Here: "cluster " + here +
			" at revision " + strconv.FormatInt(h.Revision, 10)}
	}
	return nil
}
