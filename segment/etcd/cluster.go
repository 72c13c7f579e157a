package etcd

import (
	"cmp"
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// sight is the cluster as this program has seen it last.
type sight struct {
	cluster
	revision int64 // the highest one that was seen with this record
}

// sight returns it, for a request that is sent now.
func (s *Store) sight() sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// agrees reports whether an answer can be used: the record names the cluster that has answered, and
// neither went back since the request was sent. A record with a higher stamp was settled by another
// program.
func (s *Store) agrees(h *pb.ResponseHeader, c cluster, sent sight) bool {
	if c.Cluster != clusterOf(h) { //mutant:segment-etcd-cluster
		return false
	}
	if c.Stamp < sent.Stamp || c.Stamp == sent.Stamp &&
		(c.Cluster != sent.Cluster || h.Revision < sent.revision) { //mutant:segment-etcd-back
		return false
	}
	s.learn(h, c)
	return c.Refused == "" || s.skip == 0
}

// learn notes an answer of a cluster.
func (s *Store) learn(h *pb.ResponseHeader, c cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.Stamp > s.last.Stamp:
		s.last = sight{c, h.Revision}
	case c.Stamp == s.last.Stamp:
		s.last.revision = max(s.last.revision, h.Revision)
	}
}

// settle makes the cluster record name the cluster that has answered, for all programs: each of
// them refuses it, or each tag skips numbers. If another program is faster, nothing is stored.
func (s *Store) settle(ctx context.Context, h *pb.ResponseHeader, stored string, c cluster,
	sent sight,
) error {
	here := clusterOf(h)
	if stored == "" && sent.Stamp == 0 {
		first, err := s.first(ctx, here)
		if err != nil {
			return err
		}
		c = first
	}
	was := "cluster " + c.Cluster
	if sent.Stamp > 0 {
		was = fmt.Sprintf("cluster %s at revision %d", sent.Cluster, sent.revision)
	}
	changed := stored != "" || sent.Stamp > 0 || c.Cluster != here
	c.Cluster = here
	c.Skipped = max(c.Skipped, sent.Skipped)
	if changed && s.skip > 0 {
		c.skip(s.skip)
	} else if changed {
		c.Refused = cmp.Or(c.Refused, was)
	}
	done, err := s.replace(ctx, stored, c, sent)
	if done && c.Refused != "" {
		s.log.Warn("etcd cluster changed: refusing it until all tags are advanced", "was", was,
			"cluster", here, "revision", h.Revision)
	} else if done && changed {
		s.log.Warn("etcd cluster changed: skipping numbers of all tags", "was", was, "cluster", here,
			"revision", h.Revision, "skipped", s.skip)
	}
	return err
}

// first returns the cluster record of a namespace that has none, from its tags: they name the
// cluster in which each was written.
func (s *Store) first(ctx context.Context, here string) (cluster, error) {
	c := cluster{Cluster: here}
	resp, err := s.client.Get(ctx, s.prefix+" ", s.allTags())
	if err != nil {
		return c, s.explain(ctx, err)
	}
	for _, kv := range resp.Kvs {
		var r record
		if decode("", kv.Value, &r, &r.Version) != nil {
			continue // its user hears of it
		}
		c.Skipped = max(c.Skipped, r.Skipped)
		c.Stamp = max(c.Stamp, r.Accepted)
		if r.Cluster != here {
			c.Cluster = r.Cluster
		}
	}
	return c, nil
}

// replace stores the cluster record unless another program has changed it since it was read. The
// stamp is above each that this program has seen.
func (s *Store) replace(ctx context.Context, stored string, c cluster, sent sight) (bool, error) {
	c.Version = formatVersion
	c.Stamp = max(c.Stamp, sent.Stamp) + 1
	resp, err := s.client.Txn(ctx).If(s.unchanged(stored)).Then(
		clientv3.OpPut(s.clusterKey(), encode(c))).Commit()
	if err != nil {
		return false, s.explain(ctx, err)
	}
	if resp.Succeeded {
		s.learn(resp.Header, c)
	}
	return resp.Succeeded, nil
}

// unchanged compares the cluster record with the text that was read. Its stamp makes each text
// unique.
func (s *Store) unchanged(stored string) clientv3.Cmp {
	if stored == "" {
		return clientv3.Compare(clientv3.CreateRevision(s.clusterKey()), "=", 0)
	}
	return clientv3.Compare(clientv3.Value(s.clusterKey()), "=", stored)
}

// clusterKey is the key of the cluster record. No tag begins with its first character.
func (s *Store) clusterKey() string { return s.prefix + "\x00cluster" }
