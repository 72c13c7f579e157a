package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store implements [protocol.Store].
type store struct {
	*api
	namespace, key string
	skew           int64 // microseconds
	log            *slog.Logger
	turn           chan struct{} // has a place for whoever makes a list
	begun          atomic.Int64  // lists
	last           *all          // list, guarded by turn; nil: it has failed
	ticket         atomic.Int64  // the last one, see protocol.Survey; the first one is random

	mu   sync.Mutex
	bars map[string]bar // writes that are refused, by their kind
}

func newStore(a *api, namespace string, o Options) *store {
	s := &store{
		api: a, namespace: namespace, key: keyOf(namespace), skew: o.SkewBound.Microseconds(),
		log: o.Logger, turn: make(chan struct{}, 1), bars: map[string]bar{},
	}
	s.ticket.Store(rand.Int64N(MaxCapacity))
	return s
}

// session is the store, as one token sees it.
type session struct {
	*store
	protocol.Timed

	// Guarded by mu of the store:
	listed *all // by the last survey; nil: this session has changed something since
	beaten int  // how often somebody was faster with a grant since the last survey
}

// Open implements [protocol.Store].
func (s *store) Open(string, time.Duration, int) (protocol.Session, error) {
	return &session{store: s, Timed: protocol.NewTimed()}, nil
}

// over reports whether a lease has certainly ended, by the least that the API server's clock can
// say. That of whoever has renewed it may have been another one's, and either may be off by the
// bound.
//
//mutant:kube-skew
func (s *store) over(ends, now int64) bool { return ends != forever && now >= ends+s.skew }

// owned reports whether a worker ID has an owner mark.
func (s *store) owned(o *object, now int64) bool {
	return (o.Ends == forever || o.Token != "") && !s.over(o.Ends, now)
}

// read reads a Lease; nil: it is not there. As no version is asked for, the API server makes sure
// that it has the newest one.
func (s *store) read(ctx context.Context, name string) (*lease, error) {
	l := &lease{}
	_, err := s.call(ctx, request{verb: "get", name: name}, l)
	if codeOf(err) == http.StatusNotFound {
		return nil, nil //nolint:nilnil // it is not there
	}
	return l, err
}

// get reads an object; nil: it is not there.
func (s *store) get(ctx context.Context, name string) (*object, error) {
	l, err := s.read(ctx, name)
	if l == nil || err != nil {
		return nil, err
	}
	return objectOf(l), nil
}

// write replaces the content of an object, if it is the same one and has the same annotation as
// when it was read, or makes it, if it was not there. It returns the object as it is then, nil if
// it is not there, and whether that was done.
func (s *store) write(
	ctx context.Context, o *object, c content,
) (now *object, done bool, err error) {
	text, err := c.text()
	if err != nil {
		return nil, false, err
	}
	var l *lease
	if to := map[string]string{annotation: text}; o.uid == "" {
		l, done, err = s.create(ctx, o.name, to, c.see)
	} else {
		l, done, err = s.patch(ctx, o.name, o.uid, map[string]string{annotation: o.text}, to, c.see)
	}
	if l == nil || err != nil {
		return nil, false, err
	}
	switch now = objectOf(l); {
	case done || now.uid != o.uid || now.damage != nil:
	case now.Writes < o.Writes:
		err = fmt.Errorf("the API server lists Lease %s as it was after write %d, and in its store the "+
			"last is %d: etcd was put back to an older state, and the cache of the API server is of "+
			"before, or the other way round; start all API servers again", o.name, o.Writes, now.Writes)
	case now.text == o.text:
		err = fmt.Errorf("the API server has refused a change of Lease %s, though the Lease is as "+
			"the change said", o.name)
	}
	return now, done, err
}

// patch changes annotations of a Lease from what they are; an empty one is not there. The Lease has
// to have a uid, unless that is empty. It returns what change does.
func (s *store) patch(
	ctx context.Context, name, uid string, from, to map[string]string, see *spec,
) (*lease, bool, error) {
	ops := append(changes(from, to), unmanaged)
	if uid != "" {
		ops = append(ops, operation{"test", "/metadata/uid", uid})
	}
	if see != nil {
		ops = append(ops, operation{"add", "/spec", see})
	}
	return s.change(ctx, request{verb: "patch", name: name}, ops, to)
}

// create makes a Lease that has annotations. It returns what change does.
func (s *store) create(
	ctx context.Context, name string, to map[string]string, see *spec,
) (*lease, bool, error) {
	return s.change(ctx, request{verb: "create", name: name}, s.newLease(name, to, see), to)
}

// newLease is a Lease that is not there yet.
func (s *store) newLease(name string, to map[string]string, see *spec) *lease {
	annotations := map[string]string{annotationName: s.namespace}
	maps.Copy(annotations, to)
	return &lease{
		APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Spec: see,
		Metadata: metadata{
			Name: name, Labels: map[string]string{labelNamespace: s.key}, Annotations: annotations,
		},
	}
}

// change makes a request that writes a Lease, unless those like it are refused. It returns the
// Lease as it is then, nil if it is not there, and whether it has the annotations that it was to
// have: what was refused may be done all the same, by the same request that has come before.
func (s *store) change(
	ctx context.Context, r request, body any, to map[string]string,
) (l *lease, done bool, err error) {
	if r.body, err = json.Marshal(body); err != nil {
		return nil, false, err
	}
	own := r.verb          // an object may be refused alone, by a webhook or a Role that names objects
	if r.verb == "patch" { //mutant:kube-barred
		own += " " + r.name
	}
	for n := 0; ; n++ {
		if err := cmp.Or(s.barred(r.verb, own), lifetime.Pause(ctx, n)); err != nil {
			return nil, false, err
		}
		l = &lease{}
		_, err := s.call(ctx, r, l)
		switch code := codeOf(err); {
		case err == nil:
			if name := l.lacks(to); name != "" {
				return nil, false, fmt.Errorf("the API server has not stored what it was told to in Lease "+
					"%s: whatever changes writes of Leases, such as an admission webhook, must leave the "+
					"annotation %s as it is", r.name, name)
			}
			if r.verb == "patch" {
				s.refuse(nil, acquiring)
			}
			return l, true, nil
		case code == http.StatusForbidden:
			s.refuse(err, own)
			if r.verb == "patch" {
				s.refuse(err, acquiring)
			}
		case code == http.StatusConflict && r.verb == "patch" && n < tries:
			continue // many write at once
		case decides(code) && (r.verb == "patch" || code == http.StatusConflict):
			l, err = s.read(ctx, r.name)
			//mutant:kube-twice
			return l, l != nil && err == nil && len(to) > 0 && l.lacks(to) == "", err
		}
		return nil, false, err
	}
}

const (
	// barTime is for how long no write of a kind is made after one was refused.
	barTime = 10 * time.Second
	// acquiring is the kind of an acquisition's writes, which can be of any object: it is barred
	// until one is patched.
	acquiring = "acquire"
)

// bar is why writes of a kind are refused, and since when.
type bar struct {
	err error
	at  time.Time // monotonic
}

// refuse has no write of a kind made for a while: a verb, a verb and an object, or [acquiring]. Nil
// ends that.
func (s *store) refuse(err error, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bars[kind] = bar{err, lifetime.Now()}
}

// barred returns why a write of one of some kinds cannot be made: a quota is used up, a right is
// gone, the namespace's record cannot be read, or something else refuses it. Nil: perhaps it can.
func (s *store) barred(kinds ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range kinds {
		if b := s.bars[kind]; b.err != nil && lifetime.Since(b.at) < barTime {
			return b.err
		}
	}
	return nil
}

// errNoNamespace is the error of a namespace of which only the rest is there.
func (s *store) errNoNamespace() error {
	return fmt.Errorf("%w: namespace %q has slots and no record: Lease %s was deleted; it is made "+
		"again when a generator leases a worker ID, or with 'unalike init'",
		protocol.ErrUnrecorded, s.namespace, s.objectName(-1))
}

// Look implements [protocol.Session]. The slot is read first: whatever change of the namespace's
// record, or of the marks, was made by then is seen by what is read after it.
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	name := s.objectName(worker)
	if err := s.barred("patch", "patch "+name); err != nil {
		return nil, err // whoever looks is about to write
	}
	slot, err := s.get(ctx, name)
	if err != nil {
		return nil, err
	}
	meta, err := s.get(ctx, s.objectName(-1))
	if err != nil {
		return nil, err
	}
	v := &protocol.View{Lease: slot}
	if v.Meta, err = entry[protocol.Meta](meta); err != nil {
		s.refuse(err, "patch")
	}
	if err != nil || slot == nil {
		return v, err
	}
	marks, err := s.read(ctx, s.marksName(worker/perMarks))
	if err != nil {
		return nil, err
	}
	if v.Origin = meta.lost(slot.Seen); v.Origin == "" && meta.settled() {
		v.Origin = marks.replaced(worker, slot)
	}
	v.Owned = s.owned(slot, s.Time().Low)
	v.Slot, err = slotEntry(slot, worker)
	return v, err
}

// Probe implements [protocol.Session]. What the survey has listed with the namespace's record
// needs no other look.
func (s *session) Probe(ctx context.Context, workers []int) (out []protocol.Probe, _ error) {
	a, err := s.seen(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range workers {
		var p protocol.Probe
		p.Slot, p.Err = slotEntry(a.slots[id], id)
		out = append(out, p)
	}
	return out, nil
}

// Leases implements [protocol.Session].
func (s *session) Leases(_ context.Context, holders []protocol.Holder) (out []protocol.Lease) {
	now := s.Time().Low
	for _, h := range holders {
		o, ok := h.Lease.(*object)
		if !ok {
			continue
		}
		if slot, err := slotEntry(o, h.Worker); err == nil {
			out = append(out, protocol.Lease{
				Worker: h.Worker, Renewed: slot.Record.Renewed,
				TTL:  slot.Record.Lease(),
				Left: max(time.Duration(o.Ends+s.skew-now)*time.Microsecond, 0),
			})
		}
	}
	return out
}

// List implements [protocol.Session].
func (s *session) List(ctx context.Context, _ bool) (*protocol.Listing, error) {
	l := &protocol.Listing{}
	a, err := s.list(ctx)
	switch {
	case err != nil:
		return nil, err
	case a.damage != nil:
		return nil, a.damage
	case a.meta == nil && len(a.slots) > 0:
		return nil, s.errNoNamespace()
	case a.meta == nil:
		return l, nil
	}
	l.Meta = a.record
	if why := a.missing(); why != "" {
		l.Unreadable = append(l.Unreadable, fmt.Errorf("something was lost: %s; a generator that starts "+
			"deals with it, or 'unalike quarantine'", why))
	}
	for _, id := range a.ids() {
		if s.owned(a.slots[id], a.server.Low) {
			l.Owned = append(l.Owned, id)
		}
		switch e, err := slotEntry(a.slots[id], id); {
		case err != nil:
			l.Unreadable = append(l.Unreadable, err)
		case e.There():
			l.Slots = append(l.Slots, e.Record)
		}
	}
	return l, nil
}
