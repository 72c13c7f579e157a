package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Survey implements [protocol.Session].
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	share := ask.Share
	r := request{
		Get: []string{fieldMeta, identityPrefix + ask.Identity}, Token: ask.Token,
		Info: ask.Token != "",
	}
	switch {
	case share.Count > MaxShare:
		return nil, invalid.Errorf("Request.Workers.Count is %d; a share in Redis has at most %d worker "+
			"IDs; set WorkerIDs", share.Count, MaxShare)
	case share.Count == 0:
		r.Match = allLeases
	default:
		for n := share.First / pageSize; n <= (share.First+share.Count-1)/pageSize; n++ {
			r.Get = append(r.Get, page(n*pageSize))
		}
	}
	a, meta, made, err := s.found(ctx, r, ask.New)
	if err != nil {
		return nil, err
	}
	sv := &protocol.Survey{
		Position: a.Position, Meta: meta, Made: made, Worker: int(a.worker), Last: -1,
	}
	if !meta.There() {
		return sv, nil
	}
	if share.Count == 0 {
		share.Count = meta.Record.Capacity
	}
	sv.Origin, sv.Slots = a.origin, int(a.fields-declared)
	if s.durable && sv.Slots > 0 {
		sv.Restarted = a.restarted()
	}
	if id, err := strconv.Atoi(a.values[identityPrefix+ask.Identity]); err == nil &&
		ask.Identity != "" {
		sv.Last = id
	}
	for worker := share.First; worker < share.First+share.Count; worker++ {
		ends := a.ends(worker)
		if ends == 0 {
			continue
		}
		sv.Owned = append(sv.Owned, worker)
		if ends >= forever {
			sv.Retired++
		} else {
			sv.Holders = append(sv.Holders, protocol.Holder{Worker: worker, Changed: ends})
		}
	}
	return sv, nil
}

// found reads a namespace, which is made if it is not there and anew is not nil.
func (s *session) found(ctx context.Context, r request,
	anew func(at protocol.Span) protocol.Meta) (a *answer, meta protocol.Entry[protocol.Meta],
	made bool, err error,
) {
	for {
		sent := lifetime.Now()
		if a, err = s.do(ctx, r); err != nil {
			return nil, meta, false, err
		}
		if err = s.checkServer(a); err == nil {
			err = s.checkDurable(ctx, a)
		}
		if err != nil {
			return nil, meta, false, err
		}
		made = a.Wrote
		if meta, err = s.meta(a); err != nil || meta.There() || anew == nil {
			return a, meta, made, err
		}
		deadline := a.now + protocol.Allowance(lifetime.Since(sent), 0).Microseconds()
		record, err := valueOf(meta, anew(protocol.Span{Low: a.now, High: deadline}))
		if err != nil {
			return nil, meta, false, err
		}
		r.Write = &write{
			Set: map[string]string{fieldMeta: record}, Settles: a.Lineage, Deadline: deadline,
		}
	}
}

// checkServer refuses a server that is too old, or that may throw the namespace away when its
// memory is full: the namespace has no time to live, so that only the policies do that which
// look at all keys. It warns of one that may throw leases away, or that goes on without its
// replicas.
func (s *store) checkServer(a *answer) error {
	if a.info == "" {
		return nil
	}
	version := a.says("redis_version")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < minMajor {
		return invalid.Errorf("the Redis server has version %s; at least %d.0 is needed", version,
			minMajor)
	}
	policy := a.says("maxmemory_policy")
	evicts := a.says("maxmemory") != "0"
	if evicts && strings.HasPrefix(policy, "allkeys") {
		return invalid.Errorf("the Redis server has maxmemory-policy %s, with which it may throw away a "+
			"namespace when its memory is full; set it to noeviction", policy)
	}
	warning := ""
	switch {
	case evicts && strings.HasPrefix(policy, "volatile"):
		warning = "Redis has maxmemory-policy " + policy + ", with which it may end leases when its " +
			"memory is full; set it to noeviction"
	case a.says("connected_slaves") != "0" && a.says("min_slaves_good_slaves") == "":
		warning = "Redis has replicas, and a master that is cut off from them goes on confirming " +
			"windows; set min-replicas-to-write"
	}
	if warning != "" && !s.warned.Swap(true) {
		s.log.Warn(warning, "namespace", s.namespace)
	}
	return nil
}

// restarted returns by when the server had started, by its own clock, in microseconds since
// 1970; 0: it does not say. It tells whole seconds.
func (a *answer) restarted() int64 {
	up, err := strconv.ParseInt(a.says("uptime_in_seconds"), 10, 64)
	if err != nil {
		return 0
	}
	return a.now - max(up-1, 0)*time.Second.Microseconds()
}

// checkDurable refuses a server that may lose confirmed writes when it restarts, if it was declared
// durable. A user who may not read CONFIG has declared it without a check of appendfsync.
func (s *store) checkDurable(ctx context.Context, a *answer) error {
	if !s.durable || a.info == "" {
		return nil
	}
	if a.says("aof_enabled") != "1" {
		return invalid.Errorf("durable is required and the Redis server has appendonly no; set it to " +
			"yes")
	}
	read := func(ctx context.Context, c goredis.UniversalClient) ([]string, error) {
		settings, err := c.ConfigGet(ctx, "appendfsync").Result()
		return []string{settings["appendfsync"]}, err
	}
	reply, err := s.call(ctx, read)
	switch {
	case err != nil && (goredis.HasErrorPrefix(err, "NOPERM") || goredis.HasErrorPrefix(err, "ERR")):
		return nil // it may not be read
	case err != nil:
		return s.explain(err)
	case reply[0] != "always" && reply[0] != "": //mutant:redis-appendfsync
		return invalid.Errorf("durable is required and the Redis server has appendfsync %s; set it to "+
			"always", reply[0])
	}
	return nil
}
