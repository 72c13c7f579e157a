package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store is the keys of one namespace as a [protocol.Store].
type store struct {
	*requests
	namespace string
	keys      keyspace
	life      *lifetime.Life // of the coordinator
}

// Open implements [protocol.Store].
func (st *store) Open(token string, ttl time.Duration, _ int) (protocol.Session, error) {
	return &session{store: st, token: token, ttl: ttl}, nil
}

// session is what a token has in the cluster. A request may go to any member, so there is
// no connection, but the lease of an acquisition is kept until it is used: many who are too
// slow are not to begin anew all the time.
type session struct {
	*store
	token string
	ttl   time.Duration

	mu    sync.Mutex
	drew  bool             // a ticket was drawn: one is enough
	lease clientv3.LeaseID // for an owner key; 0: none
	made  bool             // the lease was made
	alive time.Time        // when that was last seen, monotonic
	sent  bool             // an owner key was to be put on it, and what became of that is not known
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
func (s *session) Time() int64 { return 0 }

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
	lease := s.lease
	if s.sent || !s.made {
		lease = 0
	}
	s.ended, s.lease = true, 0
	s.mu.Unlock()
	s.drop(lease)
}

// drop revokes a lease that carries nothing, in the background. If that fails, it ends by
// itself.
func (s *session) drop(lease clientv3.LeaseID) {
	if lease == 0 {
		return
	}
	s.life.Spawn(func() {
		ctx, cancel := context.WithTimeout(context.Background(), tidyTime)
		defer cancel()
		_, _ = s.client.Revoke(ctx, lease)
	})
}

// needLease returns a lease to put an owner key on, and makes it if need be.
func (s *session) needLease(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	s.mu.Lock()
	if s.lease == 0 {
		s.lease, s.made, s.sent = newLeaseID(), false, false
	}
	lease, made, alive := s.lease, s.made, s.alive
	s.mu.Unlock()
	var err error
	switch {
	case made && monotonic().Sub(alive) < ttl/3:
		return lease, nil
	case made:
		if err = s.keepAlive(ctx, lease); errors.Is(err, rpctypes.ErrLeaseNotFound) {
			s.forget(lease)
			return s.needLease(ctx, ttl)
		}
	default:
		err = s.grantLease(ctx, lease, ttl)
	}
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == lease {
		s.made, s.alive = true, monotonic()
	}
	return lease, nil
}

// forget notes that a lease is a grant's, or is over.
func (s *session) forget(lease clientv3.LeaseID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == lease {
		s.lease, s.made, s.sent = 0, false, false
	}
}

// Survey implements [protocol.Session]: an acquisition draws a ticket. All of it is one
// transaction.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	k, owners := s.keys, clientv3.WithPrefix()
	first := k.owners()
	if ask.Share.Count != 0 {
		first, owners = k.owner(ask.Share.First), clientv3.WithRange(k.owner(ask.Share.First+ask.Share.Count))
	}
	reads := []clientv3.Op{
		clientv3.OpGet(k.ticket()), clientv3.OpGet(k.meta()), clientv3.OpGet(k.cluster()), clientv3.OpGet(first, owners),
	}
	if ask.Token == "" {
		reads = append(reads,
			clientv3.OpGet(k.slots(), clientv3.WithPrefix(), clientv3.WithCountOnly()),
			clientv3.OpGet(k.owners(), clientv3.WithPrefix(), clientv3.WithCountOnly()))
	} else {
		reads = append(reads, clientv3.OpGet(k.token(ask.Token)))
	}
	if ask.Identity != "" {
		reads = append(reads, clientv3.OpGet(k.identity(ask.Identity)))
	}
	var writes []clientv3.Op
	s.mu.Lock()
	if ask.Token != "" && ask.New != nil && !s.drew {
		writes = append(writes, clientv3.OpPut(k.ticket(), ""))
	}
	s.mu.Unlock()
	resp, made, err := s.transactSurvey(ctx, ask, writes, reads)
	if err != nil {
		return nil, err
	}
	sv := &protocol.Survey{Position: resp.position(made || len(writes) > 0), Made: made, Ticket: -1, Worker: -1, Last: -1}
	if len(writes) > 0 {
		sv.Ticket = max(one(resp, 0).GetVersion()-1, 0)
		s.mu.Lock()
		s.drew = true
		s.mu.Unlock()
	}
	return sv, s.readSurvey(sv, ask, resp)
}

// transactSurvey makes a survey's transaction, which makes the namespace if that is not
// there, nor any part of it. The answer is to the reads.
func (s *session) transactSurvey(ctx context.Context, ask protocol.Ask, writes, reads []clientv3.Op) (resp *reply, made bool, err error) {
	if ask.New == nil {
		resp, err = s.fetch(ctx, reads...)
		return resp, false, err
	}
	fresh, err := protocol.Encode(ask.New(0))
	if err != nil {
		return nil, false, err
	}
	k := s.keys
	absent := []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(k.meta()), "=", 0),
		clientv3.Compare(clientv3.CreateRevision(k.slots()), "=", 0).WithPrefix(),
		clientv3.Compare(clientv3.CreateRevision(k.owners()), "=", 0).WithPrefix(),
	}
	create := []clientv3.Op{clientv3.OpPut(k.meta(), fresh)}
	if resp, err = s.propose(ctx, absent, slices.Concat(create, writes, reads), slices.Concat(writes, reads)); err != nil {
		return nil, false, err
	}
	skip := len(writes)
	if resp.Succeeded {
		skip++
	}
	resp.Responses = resp.Responses[skip:]
	return resp, resp.Succeeded, nil
}

// readSurvey reads the answers to a survey.
func (s *session) readSurvey(sv *protocol.Survey, ask protocol.Ask, resp *reply) (err error) {
	k := s.keys
	if sv.Meta, err = entryOf[protocol.Meta](one(resp, 1)); err != nil {
		return err
	}
	if kv := one(resp, 2); kv != nil {
		sv.Origin = string(kv.Value)
	}
	for _, kv := range rangeOf(resp, 3).GetKvs() {
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
		sv.Slots = int(rangeOf(resp, 4).GetCount() + rangeOf(resp, 5).GetCount())
	} else if kv := one(resp, 4); kv != nil {
		t, err := decode[tokenRecord](string(kv.Key), kv.Value)
		if err != nil {
			return err
		}
		sv.Worker = t.Worker
	}
	if !sv.Meta.There() && (sv.Slots > 0 || len(sv.Owned) > 0 || ask.New != nil) {
		return damaged(k.meta(), errors.New("the key is missing and there are slots"))
	}
	if kv := one(resp, 5); ask.Identity != "" && kv != nil {
		if sv.LastSlot, err = entryOf[protocol.Slot](kv); err != nil {
			return err
		}
		sv.Last = sv.LastSlot.Record.Worker
		sv.LastSlot.Made = protocol.MadeUnknown // it is a copy, which was written together with the slot
	}
	return nil
}

// Look implements [protocol.Session]. A token need not be read: its key is written and
// deleted together with the owner key.
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	resp, err := s.fetch(ctx, s.gets(worker)...)
	if err != nil {
		return nil, err
	}
	v, err := s.viewFrom(worker, resp)
	if err == nil && v.Slot.Record.Token == s.token {
		s.forget(ownerOf(v).lease)
	}
	return v, err
}

// gets are the operations that read a view; viewFrom reads their answers.
func (s *session) gets(worker int) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpGet(s.keys.meta()), clientv3.OpGet(s.keys.owner(worker)), clientv3.OpGet(s.keys.slot(worker)),
	}
}

// viewFrom decodes the answers to gets.
func (s *session) viewFrom(worker int, resp *reply) (*protocol.View, error) {
	v := &protocol.View{Position: resp.position(false)}
	var err error
	if v.Meta, err = entryOf[protocol.Meta](one(resp, 0)); err != nil {
		return nil, err
	}
	if kv := one(resp, 1); kv != nil {
		v.Owned, v.Lease = true, ownerKey{kv.CreateRevision, clientv3.LeaseID(kv.Lease)}
	}
	if v.Slot, err = s.slotOf(worker, one(resp, 2)); err == nil && !v.Meta.There() && v.Slot.There() {
		err = damaged(s.keys.meta(), errors.New("the key is missing and there are slots"))
	}
	return v, err
}

// slotOf decodes a slot.
func (s *session) slotOf(worker int, kv *mvccpb.KeyValue) (protocol.Entry[protocol.Slot], error) {
	e, err := entryOf[protocol.Slot](kv)
	if err == nil && kv != nil && e.Record.Worker != worker {
		err = damaged(string(kv.Key), fmt.Errorf("worker is %d and the key is that of %d", e.Record.Worker, worker))
	}
	return e, err
}

// Probe implements [protocol.Session]. The lease is made at the same time.
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	ops := make([]clientv3.Op, len(workers))
	for i, id := range workers {
		ops[i] = clientv3.OpGet(s.keys.slot(id))
	}
	var lease sync.WaitGroup
	var leaseErr error
	lease.Go(func() { _, leaseErr = s.needLease(ctx, s.ttl) })
	resp, err := s.fetch(ctx, ops...)
	lease.Wait()
	if err == nil {
		err = leaseErr
	}
	if err != nil {
		return nil, err
	}
	probed := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		probed[i].Slot, probed[i].Err = s.slotOf(id, one(resp, i))
	}
	return probed, nil
}

// Leases implements [protocol.Session]: only etcd knows when a lease ends, since leases
// stand still while it is down, and begin anew with it.
func (s *session) Leases(ctx context.Context, holders []protocol.Holder) []protocol.Lease {
	holders = holders[:min(len(holders), askedAtOnce)]
	all := make([]protocol.Lease, len(holders))
	var asked sync.WaitGroup
	for i, h := range holders {
		asked.Go(func() {
			mark, err := h.Mark()
			lease, ok := h.Lease.(clientv3.LeaseID)
			if err != nil || !ok {
				return
			}
			all[i] = protocol.Lease{
				Worker: h.Worker, Mark: strconv.FormatInt(h.Changed, 10), Renewed: mark.Renewed, TTL: mark.Lease(),
				Left: s.remaining(ctx, lease, mark.Lease()),
			}
		})
	}
	asked.Wait()
	var known []protocol.Lease
	for _, l := range all {
		if l.Mark != "" {
			known = append(known, l)
		}
	}
	return known
}

// askedAtOnce is of how many holders it is asked at once when their leases end.
const askedAtOnce = 9

// List implements [protocol.Session].
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	ops := []clientv3.Op{clientv3.OpGet(s.keys.meta())}
	if slots {
		ops = append(ops,
			clientv3.OpGet(s.keys.owners(), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
			clientv3.OpGet(s.keys.slots(), clientv3.WithPrefix()))
	}
	resp, err := s.fetch(ctx, ops...)
	if err != nil {
		return nil, err
	}
	l := &protocol.Listing{Position: resp.position(false)}
	if l.Meta, err = entryOf[protocol.Meta](one(resp, 0)); err != nil || !slots {
		return l, err
	}
	for _, kv := range rangeOf(resp, 1).GetKvs() {
		id, err := workerOf(s.keys.owners(), string(kv.Key))
		if err != nil {
			l.Unreadable = append(l.Unreadable, err)
			continue
		}
		l.Owned = append(l.Owned, id)
	}
	records := rangeOf(resp, 2).GetKvs()
	if !l.Meta.There() && len(records) > 0 {
		return nil, damaged(s.keys.meta(), errors.New("the key is missing and there are slots"))
	}
	for _, kv := range records {
		id, err := workerOf(s.keys.slots(), string(kv.Key))
		var e protocol.Entry[protocol.Slot]
		if err == nil {
			e, err = s.slotOf(id, kv)
		}
		if err != nil {
			l.Unreadable = append(l.Unreadable, fmt.Errorf("etcd: %w", err))
			continue
		}
		l.Slots = append(l.Slots, e.Record)
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
	if len(ids) > 1 {
		return fmt.Errorf("%w: the endpoints belong to different etcd clusters: %s; name the members of one", coord.ErrInvalid, strings.Join(said, ", "))
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
