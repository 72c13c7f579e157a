package etcd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// observed is the cluster as this program has seen it last.
type observed struct {
	cluster
	revision int64 // the highest one that was seen with this record
}

// observed returns it, for a request that is sent now.
func (s *Store) observed() observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// agrees reports whether an answer can be used: the record names the cluster that has answered, and
// neither went back since the request was sent. A record with a higher stamp was settled by another
// program.
func (s *Store) agrees(h *pb.ResponseHeader, c cluster, sent observed) bool {
	if c.Cluster != clusterOf(h) { //mutant:segment-etcd-cluster
		return false
	}
	if c.Stamp < sent.Stamp || c.Stamp == sent.Stamp &&
		(c.Cluster != sent.Cluster || h.Revision < sent.revision) { //mutant:segment-etcd-back
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Stamp > s.last.Stamp {
		s.last = observed{cluster: c}
	}
	if c.Stamp == s.last.Stamp {
		s.last.revision = max(s.last.revision, h.Revision)
	}
	return c.Refused == "" || s.skip == 0
}

// clusterOf returns the ID of the cluster that has answered.
func clusterOf(h *pb.ResponseHeader) string { return strconv.FormatUint(h.GetClusterId(), 16) }

// adopt makes the cluster record name the cluster that has answered, for all programs: each of
// them refuses it, or each tag skips numbers. If another program is faster, nothing is stored.
func (s *Store) adopt(ctx context.Context, here, stored string, c cluster, sent observed) error {
	was := "cluster " + c.Cluster
	if sent.Stamp > 0 {
		was = fmt.Sprintf("cluster %s at revision %d", sent.Cluster, sent.revision)
	} else if stored == "" { // the tags name the cluster in which each was written
		resp, err := s.client.Get(ctx, s.prefix+" ", s.allTags())
		if err != nil {
			return s.explain(ctx, err)
		}
		was = ""
		for i := range resp.Kvs {
			var r record
			if _, err := decode(resp.Kvs[i:], &r, &r.Version); err == nil && r.Cluster != here {
				was = "cluster " + r.Cluster
			}
			c.Skipped = max(c.Skipped, r.Skipped)
			c.Stamp = max(c.Stamp, r.Accepted)
		}
	}
	c.Cluster = here
	c.Skipped = max(c.Skipped, sent.Skipped)
	if was != "" && s.skip > 0 {
		c.Refused = ""
		c.Add(s.skip)
	} else {
		c.Refused = cmp.Or(c.Refused, was)
	}
	done, err := s.replace(ctx, stored, c, sent)
	if done && was != "" {
		s.log.Warn("etcd cluster changed", "was", was, "is", here, "skipped", s.skip)
	}
	return err
}

// replace stores the cluster record unless another program has changed it since it was read. The
// stamp is above each that this program has seen.
func (s *Store) replace(ctx context.Context, stored string, c cluster, sent observed) (done bool,
	err error,
) {
	c.Version = formatVersion
	c.Stamp = max(c.Stamp, sent.Stamp) + 1
	resp, err := s.client.Txn(ctx).If(unchanged(s.clusterKey(), stored)).Then(
		clientv3.OpPut(s.clusterKey(), encode(c))).Commit()
	if err != nil {
		return false, s.explain(ctx, err)
	}
	return resp.Succeeded, nil
}

// unchanged compares a key with the value that was read; empty: there was no key. Values are
// unique, also in a cluster that went back, where revisions are not.
func unchanged(key, stored string) clientv3.Cmp {
	if stored == "" {
		return clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	}
	return clientv3.Compare(clientv3.Value(key), "=", stored) //mutant:segment-etcd-compare
}

// clusterKey is the key of the cluster record. No tag begins with its first character.
func (s *Store) clusterKey() string { return s.prefix + "\x00cluster" }
