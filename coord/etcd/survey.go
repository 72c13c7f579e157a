package etcd

import (
	"context"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/protocol"
)

// Survey implements [protocol.Session]: one transaction, with which an acquisition draws a
// ticket, and which makes the namespace if that is not there, nor any part of it.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	k, share := s.keys, clientv3.OpGet(s.keys.owners(), clientv3.WithPrefix())
	if ask.Share.Count != 0 {
		share = clientv3.OpGet(k.owner(ask.Share.First),
			clientv3.WithRange(k.owner(ask.Share.First+ask.Share.Count)))
	}
	ops := []clientv3.Op{
		clientv3.OpGet(k.meta()), clientv3.OpGet(k.cluster()),
		clientv3.OpGet(k.ticket()), share,
	}
	if ask.Token == "" {
		ops = append(ops, clientv3.OpGet(k.slots(), clientv3.WithPrefix(), clientv3.WithCountOnly()))
	} else {
		ops = append(ops, clientv3.OpGet(k.token(ask.Token)))
	}
	if ask.Identity != "" {
		ops = append(ops, clientv3.OpGet(k.identity(ask.Identity)))
	}
	s.mu.Lock()
	draws := ask.Token != "" && ask.New != nil && !s.drew
	s.mu.Unlock()
	if draws {
		ops = slices.Insert(ops, 0, clientv3.OpPut(k.ticket(), ""))
	}
	var absent []clientv3.Cmp
	var orElse []clientv3.Op
	if ask.New != nil {
		fresh, err := protocol.Encode(ask.New(protocol.Span{}))
		if err != nil {
			return nil, err
		}
		// first, as the others take longer
		absent = append(absent, clientv3.Compare(clientv3.CreateRevision(k.meta()), "=", 0))
		absent = append(absent, k.unused()...)
		ops, orElse = slices.Insert(slices.Clone(ops), 0, clientv3.OpPut(k.meta(), fresh)), ops
	}
	resp, err := s.transact(ctx, absent, ops, orElse)
	if err != nil {
		return nil, err
	}
	made := resp.done && ask.New != nil
	sv := &protocol.Survey{
		Position: resp.position(made || draws), Made: made, Others: s.others, Worker: -1, Last: -1,
	}
	if draws {
		sv.Ticket = max(resp.one(2).GetVersion(), 1)
		s.mu.Lock()
		s.drew = true
		s.mu.Unlock()
	}
	return sv, s.readSurvey(sv, ask, resp)
}

// readSurvey reads the answers to a survey.
func (s *session) readSurvey(sv *protocol.Survey, ask protocol.Ask, resp *reply) (err error) {
	k := s.keys
	if sv.Meta, err = metaOf(resp.one(0)); err != nil {
		return err
	}
	if kv := resp.one(1); kv != nil {
		sv.Origin = string(kv.Value)
	}
	for _, kv := range resp.keys(3) {
		id, err := workerOf(k.owners(), string(kv.Key))
		if err != nil {
			return err
		}
		sv.Owned = append(sv.Owned, id)
		if kv.Lease == 0 {
			sv.Retired++
			continue
		}
		sv.Holders = append(sv.Holders, protocol.Holder{
			Worker: id, Changed: kv.ModRevision, Lease: clientv3.LeaseID(kv.Lease),
			Mark: func() (protocol.Mark, error) { return decode[protocol.Mark](string(kv.Key), kv.Value) },
		})
	}
	if ask.Token == "" {
		sv.Slots = len(sv.Owned) + int(resp.reads[4].GetCount())
	} else if sv.Worker, err = leadsTo(resp.one(4)); err != nil {
		return err
	}
	if !sv.Meta.There() && (sv.Slots > 0 || len(sv.Owned) > 0 || ask.New != nil) {
		return k.noMeta()
	}
	if ask.Identity != "" {
		sv.Last, err = leadsTo(resp.one(5))
	}
	return err
}

const (
	// mostLists and listed bound the calls that list namespaces, and the keys in the answer to one.
	mostLists = 100
	listed    = 64
)

// others returns the names of the namespaces of the cluster, the first ones if there are many.
// A namespace may have thousands of keys, so each call begins after the last namespace that the
// call before has seen.
func (s *session) others(ctx context.Context) (names []string) {
	from, end := root, clientv3.GetPrefixRangeEnd(root)
	for range mostLists {
		resp, err := s.fetch(ctx, clientv3.OpGet(from, clientv3.WithRange(end),
			clientv3.WithKeysOnly(), clientv3.WithLimit(listed)))
		if err != nil || len(resp.keys(0)) == 0 {
			return names
		}
		for _, kv := range resp.keys(0) {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), root), "/")
			if !slices.Contains(names, name) && name != taken {
				names = append(names, name)
			}
			from = clientv3.GetPrefixRangeEnd(root + name + "/")
		}
	}
	return names
}
