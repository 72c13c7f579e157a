package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/etcdclient"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store is the keys of one namespace as a [protocol.Store].
type store struct {
	client    *clientv3.Client
	owned     bool // the client was made for this coordinator, which closes it
	keys      keyspace
	life      *lifetime.Life // of the coordinator
	reconnect etcdclient.Reconnect
	log       *slog.Logger
}

// Open implements [protocol.Store].
func (st *store) Open(token string, ttl time.Duration, _ int) (protocol.Session, error) {
	return &session{store: st, token: token, ttl: ttl}, nil
}

// Close implements [io.Closer] for the coordinator.
func (st *store) Close() error {
	if !st.owned {
		return nil
	}
	return st.client.Close()
}

// session is what a token has in the cluster. A request may go to any member, so there is
// no connection, but the lease of an acquisition is kept until it is used: many who are too
// slow are not to begin anew all the time.
type session struct {
	*store
	token string
	ttl   time.Duration

	mu    sync.Mutex
	drew  bool // a ticket was drawn: one is enough
	lease lease
	ended bool
}

// errEnded says that a session is not needed any more.
var errEnded = errors.New("the session was ended")

// ownerKey is what a view knows of an owner key.
type ownerKey struct {
	made  int64 // CreateRevision
	lease clientv3.LeaseID
}

// ownerOf returns what a view knows of the owner key.
func ownerOf(v *protocol.View) ownerKey {
	o, _ := v.Lease.(ownerKey)
	return o
}

// Holds implements [protocol.Session]: whoever renews keeps the lease alive that the owner
// key is on.
func (s *session) Holds(v *protocol.View) bool { return ownerOf(v).lease != 0 }

// Time implements [protocol.Session]. Etcd tells nobody the time.
func (s *session) Time() protocol.Span { return protocol.Span{} }

// Over implements [protocol.Session].
func (s *session) Over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errEnded
	}
	return nil
}

// End implements [protocol.Session]. A lease that may carry a grant ends by itself.
func (s *session) End() {
	s.mu.Lock()
	last := s.lease
	s.ended, s.lease = true, lease{}
	s.mu.Unlock()
	if !last.sent { //mutant:etcd-lease-sent
		s.drop(last.id)
	}
}

// Look implements [protocol.Session]. A token need not be read: its key is written and
// deleted together with the owner key.
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	resp, err := s.fetch(ctx, s.gets(worker)...)
	if err != nil {
		return nil, err
	}
	v, err := s.viewFrom(resp)
	if err == nil && v.Slot.Record.Token == s.token {
		s.forget(ownerOf(v).lease)
	}
	return v, err
}

// gets are the operations that read a view; viewFrom reads their answers.
func (s *session) gets(worker int) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpGet(s.keys.meta()), clientv3.OpGet(s.keys.owner(worker)),
		clientv3.OpGet(s.keys.slot(worker)), clientv3.OpGet(s.keys.holder(worker)),
	}
}

// viewFrom decodes the answers to gets.
func (s *session) viewFrom(resp *reply) (*protocol.View, error) {
	v := &protocol.View{Position: resp.position(false)}
	var err error
	if v.Meta, err = metaOf(resp.one(0)); err != nil {
		return nil, err
	}
	if kv := resp.one(1); kv != nil {
		v.Owned, v.Lease = true, ownerKey{kv.CreateRevision, clientv3.LeaseID(kv.Lease)}
	}
	if v.Slot, err = s.keys.slotOf(resp.one(2), resp.one(3)); err == nil && !v.Meta.There() &&
		v.Slot.There() {
		err = s.keys.noMeta()
	}
	return v, err
}

// Probe implements [protocol.Session]. The lease is made at the same time.
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	ops := make([]clientv3.Op, 0, 2*len(workers))
	for _, id := range workers {
		ops = append(ops, clientv3.OpGet(s.keys.slot(id)), clientv3.OpGet(s.keys.holder(id)))
	}
	var leased sync.WaitGroup
	var leaseErr error
	leased.Go(func() { _, leaseErr = s.needLease(ctx, s.ttl) })
	resp, err := s.fetch(ctx, ops...)
	leased.Wait()
	if err = cmp.Or(err, leaseErr); err != nil {
		return nil, err
	}
	probed := make([]protocol.Probe, len(workers))
	for i := range workers {
		probed[i].Slot, probed[i].Err = s.keys.slotOf(resp.one(2*i), resp.one(2*i+1))
	}
	return probed, nil
}

// List implements [protocol.Session].
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	ops := []clientv3.Op{clientv3.OpGet(s.keys.meta())}
	if slots {
		ops = append(ops,
			clientv3.OpGet(s.keys.owners(), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
			clientv3.OpGet(s.keys.slots(), clientv3.WithPrefix()),
			clientv3.OpGet(s.keys.holders(), clientv3.WithPrefix()))
	}
	resp, err := s.fetch(ctx, ops...)
	if err != nil {
		return nil, err
	}
	l := &protocol.Listing{Position: resp.position(false)}
	if l.Meta, err = metaOf(resp.one(0)); err != nil || !slots {
		return l, err
	}
	for _, kv := range resp.keys(1) {
		if id, err := workerOf(s.keys.owners(), string(kv.Key)); err != nil {
			l.Unreadable = append(l.Unreadable, err)
		} else {
			l.Owned = append(l.Owned, id)
		}
	}
	if !l.Meta.There() && len(resp.keys(2)) > 0 {
		return nil, s.keys.noMeta()
	}
	rest := map[string]*mvccpb.KeyValue{}
	for _, kv := range resp.keys(3) {
		rest[path.Base(string(kv.Key))] = kv
	}
	for _, kv := range resp.keys(2) {
		if e, err := s.keys.slotOf(kv, rest[path.Base(string(kv.Key))]); err != nil {
			l.Unreadable = append(l.Unreadable, fmt.Errorf("etcd: %w", err))
		} else {
			l.Slots = append(l.Slots, e.Record)
		}
	}
	return l, nil
}

// CheckLineages implements [protocol.Checker]: a client with endpoints of two clusters
// would meet each of them in turn.
func (s *session) CheckLineages(ctx context.Context) error {
	var said []string
	ids := map[uint64]bool{}
	for _, endpoint := range s.client.Endpoints() {
		id, err := s.clusterOf(ctx, endpoint)
		if err != nil {
			continue
		}
		ids[id] = true
		said = append(said, fmt.Sprintf("%s is of cluster %x", endpoint, id))
	}
	if len(ids) > 1 { //mutant:etcd-clusters
		return invalid.Errorf("the endpoints belong to different etcd clusters: %s; name the "+
			"members of one", strings.Join(said, ", "))
	}
	return nil
}

// clusterOf returns the ID of the cluster that an endpoint belongs to.
func (s *session) clusterOf(ctx context.Context, endpoint string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	status, err := s.client.Status(ctx, endpoint)
	if err != nil {
		return 0, err
	}
	return status.Header.GetClusterId(), nil
}
