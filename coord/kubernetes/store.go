package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
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
	lists          lists

	mu     sync.Mutex
	server int64          // the API server's clock, when it was learned; 0: it was not
	at     time.Time      // monotonic
	bars   map[string]bar // writes that are refused, by their verb
}

func newStore(a *api, namespace string, o Options) *store {
	return &store{
		api: a, namespace: namespace, key: keyOf(namespace), skew: o.SkewBound.Microseconds(),
		log: o.Logger, lists: lists{turn: make(chan struct{}, 1)}, bars: map[string]bar{},
	}
}

// session is the store, as one token sees it. There is nothing to end: leases end by the API
// server's clock.
type session struct {
	*store
	token string
	life  context.Context //nolint:containedctx // it is ended by End
	end   context.CancelFunc

	// Guarded by mu of the store:
	listed *all // by the last survey; nil: something was changed since
	worker int  // that the token was granted in this session; -1: none
	beaten int  // how often somebody was faster with a grant since the last survey

	edited atomic.Bool // the namespace's record could not be read
}

// Open implements [protocol.Store].
func (s *store) Open(token string, _ time.Duration, _ int) (protocol.Session, error) {
	life, end := context.WithCancel(context.Background())
	return &session{store: s, token: token, life: life, end: end, worker: -1}, nil
}

// Over implements [protocol.Session].
func (s *session) Over() error { return s.life.Err() }

// End implements [protocol.Session].
func (s *session) End() { s.end() }

// Holds implements [protocol.Session]: a lease is a field, which any session keeps alive.
func (s *session) Holds(v *protocol.View) bool { return v.Owned }

// half is what is added to the API server's clock, which is rounded down to a second.
const half = int64(time.Second / 2 / time.Microsecond)

// Time implements [protocol.Session].
func (s *store) Time() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == 0 {
		return 0
	}
	return s.server + half + lifetime.Since(s.at).Microseconds()
}

// learn takes note of the API server's clock.
func (s *store) learn(date int64) error {
	if date == 0 {
		return errors.New("the answer of the API server does not tell the time: " +
			"whatever is between must leave its header Date as it is")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server, s.at = date, lifetime.Now()
	return nil
}

// over reports whether a lease has ended, by the API server's clock. That of whoever has
// renewed it may have been another one's, and either may be off by the bound.
func (s *store) over(ends, now int64) bool { return ends != forever && now >= ends+s.skew } //mutant:kube-skew

// owned reports whether a worker ID has an owner mark.
func (s *store) owned(o *object, now int64) bool {
	return o != nil && o.damage == nil && (o.Ends == forever || o.Token != "") && !s.over(o.Ends, now)
}

// read reads a Lease; nil: it is not there. As no version is asked for, the API server makes sure
// that it has the newest one.
func (s *store) read(ctx context.Context, name string) (_ *lease, now int64, err error) {
	l := &lease{}
	now, err = s.call(ctx, request{verb: "get", method: http.MethodGet, name: name}, l)
	if codeOf(err) == http.StatusNotFound {
		return nil, 0, nil
	}
	return l, now, cmp.Or(err, s.learn(now))
}

// get reads an object; nil: it is not there.
func (s *store) get(ctx context.Context, name string) (*object, int64, error) {
	l, now, err := s.read(ctx, name)
	if l == nil || err != nil {
		return nil, now, err
	}
	return objectOf(*l), now, nil
}

// write replaces the content of an object, if it is the same one and has the same annotation as
// when it was read, or makes it, if it was not there; nil: it has not. See, if not nil, is what
// people see then.
func (s *store) write(ctx context.Context, o *object, c content, see *spec) (*object, error) {
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	var l *lease
	if o.uid == "" {
		n := s.newLease(o.name)
		n.Spec, n.Metadata.Annotations[annotation] = see, text
		l, err = s.create(ctx, n)
	} else {
		ops := []operation{
			{"test", "/metadata/uid", o.uid},
			{"test", place(annotation), o.text},
			{"add", place(annotation), text},
			{"add", place(annotationName), s.namespace},
		}
		if see != nil {
			ops = append(ops, operation{"add", "/spec", see})
		}
		l, err = s.patch(ctx, o.name, ops)
	}
	if l == nil || err != nil {
		return nil, err
	}
	now := objectOf(*l)
	if now.text != text {
		return nil, errChanged(o.name, annotation)
	}
	return now, nil
}

// patch changes a Lease; nil: a test has failed, or it is not there.
func (s *store) patch(ctx context.Context, name string, ops []operation) (*lease, error) {
	body, err := json.Marshal(append(ops, unmanaged))
	if err != nil {
		return nil, err
	}
	r := request{verb: "patch", method: http.MethodPatch, name: name, content: patchType, body: body}
	for n := 0; ; n++ {
		if err := lifetime.Pause(ctx, n); err != nil {
			return nil, err
		}
		l, err := s.change(ctx, r)
		switch code := codeOf(err); {
		case code == http.StatusConflict && n < tries: // many write at once
		case code == http.StatusUnprocessableEntity, code == http.StatusNotFound:
			return nil, nil //nolint:nilnil // it was refused
		default:
			return l, err
		}
	}
}

// errChanged says that an answer to a write is not what was written.
func errChanged(name, annotation string) error {
	return fmt.Errorf("the API server has not stored what it was told to in Lease %s: whatever "+
		"changes writes of Leases, such as an admission webhook, must leave the annotation %s as it is",
		name, annotation)
}

// newLease is a Lease that is to be made.
func (s *store) newLease(name string) lease {
	return lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: metadata{
		Name: name, Labels: map[string]string{labelNamespace: s.key},
		Annotations: map[string]string{annotationName: s.namespace},
	}}
}

// create makes a Lease; nil: it is there.
func (s *store) create(ctx context.Context, l lease) (*lease, error) {
	body, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	r := request{verb: "create", method: http.MethodPost, content: "application/json", body: body}
	made, err := s.change(ctx, r)
	switch codeOf(err) {
	case http.StatusConflict:
		return nil, nil //nolint:nilnil // it is there
	case http.StatusNotFound:
		err = fmt.Errorf("the Kubernetes namespace %q is not there: %w", s.in, err)
	}
	return made, err
}

// barTime is for how long no write of a kind is made after one was refused.
const barTime = 10 * time.Second

// bar is why writes of a kind are refused, and since when.
type bar struct {
	err error
	at  time.Time // monotonic
}

// barred returns why a write of a kind cannot be made: a quota is used up, a right is gone, or
// something else refuses it. Nil: perhaps it can.
func (s *store) barred(verb string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bars[verb]; b.err != nil && lifetime.Since(b.at) < barTime {
		return b.err
	}
	return nil
}

// change makes a request that writes, unless those like it are refused.
func (s *store) change(ctx context.Context, r request) (*lease, error) {
	if err := s.barred(r.verb); err != nil {
		return nil, err
	}
	l := &lease{}
	now, err := s.call(ctx, r, l)
	if codeOf(err) == http.StatusForbidden {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bars[r.verb] = bar{err, lifetime.Now()}
	}
	if err == nil {
		err = s.learn(now)
	}
	return l, err
}

// errNoNamespace is the error of a namespace of which only the rest is there.
func (s *store) errNoNamespace() error {
	return fmt.Errorf("%w: namespace %q has slots and no record: Lease %s was deleted; it is made "+
		"again when a generator leases a worker ID, or with 'unalike init'",
		protocol.ErrUnrecorded, s.namespace, s.objectName(-1))
}

// looks is how often a look is made again because a slot was made, or the record changed,
// meanwhile.
const looks = 3

// Look implements [protocol.Session]. The slot is read first: whatever change of the namespace's
// record was made by then is seen by what is read after it.
func (s *session) Look(ctx context.Context, worker int, _ string) (v *protocol.View, _ error) {
	if err := s.barred("patch"); err != nil {
		return nil, err // whoever looks is about to write
	}
	if s.edited.Load() { // nothing else is asked for before it is mended
		if _, _, _, err := s.record(ctx); err != nil {
			return nil, err
		}
	}
	for range looks { // it may have been made, or changed, between
		slot, _, err := s.get(ctx, s.objectName(worker))
		if err != nil {
			return nil, err
		}
		meta, e, now, err := s.record(ctx)
		if err != nil {
			return nil, err
		}
		v = &protocol.View{Meta: e, Lease: slot, Owned: s.owned(slot, now)}
		if v.Slot, err = slotEntry(slot, worker); err != nil {
			return nil, err
		}
		m, err := s.readMarks(ctx, worker)
		if err != nil {
			return nil, err
		}
		if v.Origin = compare(meta, m, worker, slot); v.Origin == "" {
			break
		}
	}
	return v, nil
}

// record reads the namespace's record, and notes whether it can be read.
func (s *session) record(ctx context.Context) (meta *object, e protocol.Entry[protocol.Meta], now int64, err error) {
	if meta, now, err = s.get(ctx, s.objectName(-1)); err == nil {
		e, err = entry[protocol.Meta](meta)
		s.edited.Store(err != nil)
	}
	return meta, e, now, err
}

// compare describes what shows that the record, or a slot that was read before it and its marks,
// was lost; empty: nothing.
func compare(meta *object, m *marks, worker int, slot *object) (why string) {
	if slot != nil {
		why = meta.lost(slot.Seen)
	}
	if why == "" && meta != nil && meta.settled() && !m.gone() {
		why = m.missing(worker, slot)
	}
	return why
}

// Probe implements [protocol.Session]. What the survey has listed with the namespace's record
// needs no other look.
func (s *session) Probe(ctx context.Context, workers []int) (out []protocol.Probe, err error) {
	s.mu.Lock()
	a := s.listed
	s.mu.Unlock()
	if a == nil {
		if a, err = s.list(ctx); err != nil {
			return nil, err
		}
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
	now := s.Time()
	for _, h := range holders {
		o, ok := h.Lease.(*object)
		if !ok {
			continue
		}
		if slot, err := slotEntry(o, h.Worker); err == nil {
			out = append(out, protocol.Lease{
				Worker: h.Worker, Mark: strconv.FormatInt(o.Ends, 10), Renewed: slot.Record.Renewed,
				TTL:  slot.Record.Lease(),
				Left: max(time.Duration(o.Ends+s.skew-now)*time.Microsecond, 0),
			})
		}
	}
	return out
}

// List implements [protocol.Session].
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	l := &protocol.Listing{}
	if !slots {
		meta, _, err := s.get(ctx, s.objectName(-1))
		if err == nil {
			l.Meta, err = entry[protocol.Meta](meta)
		}
		return l, err
	}
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
	if l.Meta = a.record; a.missing() != "" {
		l.Unreadable = append(l.Unreadable, fmt.Errorf("something was lost: %s; a generator that starts "+
			"deals with it, or 'unalike quarantine'", a.missing()))
	}
	for _, id := range a.ids() {
		if s.owned(a.slots[id], a.now) {
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
