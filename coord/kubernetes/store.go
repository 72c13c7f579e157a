package kubernetes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// store implements [protocol.Store].
type store struct {
	*api
	namespace, key string
	skew           int64 // microseconds
	log            *slog.Logger
	lists          flights
	waits          flights

	mu      sync.Mutex
	server  int64     // the API server's clock, when it was learned; 0: it was not
	at      time.Time // monotonic
	held    map[string]int
	seen    seen
	doubts  map[string]*object // that were refused because they are not stored as they were read, by name
	pending map[string]*object // grants whose outcome is not known, by token, as the slot was before
}

func newStore(a *api, namespace string, o Options) *store {
	return &store{
		api: a, namespace: namespace, key: keyOf(namespace), skew: o.SkewBound.Microseconds(), log: o.Logger,
		held: map[string]int{}, pending: map[string]*object{}, doubts: map[string]*object{},
	}
}

// session is the store, as one token sees it. There is nothing to end: leases end by the API
// server's clock.
type session struct {
	*store
	token string
	ttl   time.Duration
	life  context.Context //nolint:containedctx // it is ended by End
	end   context.CancelFunc

	listed map[int]*object // by the last survey, until something is changed
	beaten int             // how often somebody was faster with a grant since
	turn   atomic.Int64    // of this session, among those of this process that choose by the same list
	claim  atomic.Int64    // the last that it has made, to make slots; 0: none
}

// Open implements [protocol.Store].
func (s *store) Open(token string, ttl time.Duration, _ int) (protocol.Session, error) {
	life, end := context.WithCancel(context.Background())
	return &session{store: s, token: token, ttl: ttl, life: life, end: end}, nil
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
		return fmt.Errorf("the answer of the API server does not tell the time: whatever is between must leave its header Date as it is")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server, s.at = date, lifetime.Now()
	return nil
}

// over reports whether a lease has ended, by the API server's clock. That of whoever has
// renewed it may have been another one's, and either may be off by the bound.
func (s *store) over(ends, now int64) bool { return ends != forever && now >= ends+s.skew }

// owned reports whether a worker ID has an owner mark.
func (s *store) owned(o *object, now int64) bool {
	return o != nil && o.damage == nil && (o.Ends == forever || o.Token != "") && !s.over(o.Ends, now)
}

// get reads an object; nil: it is not there. As no version is asked for, the API server makes
// sure that it has the newest one.
func (s *store) get(ctx context.Context, name string) (o *object, now int64, err error) {
	var l lease
	now, err = s.call(ctx, request{verb: "get", method: http.MethodGet, name: name}, &l)
	switch {
	case codeOf(err) == http.StatusNotFound:
		return nil, now, s.learn(now)
	case err != nil:
		return nil, now, err
	}
	return objectOf(l), now, s.learn(now)
}

// write replaces the content of an object, if it is as it was read. Not done, it returns no
// error if that is certain.
func (s *store) write(ctx context.Context, o *object, c content, see *spec) (*object, error) {
	body, text, err := o.patch(c, see)
	if err != nil {
		return nil, err
	}
	var l lease
	now, err := s.call(ctx, request{verb: "patch", method: http.MethodPatch, name: o.name, content: "application/json-patch+json", body: body}, &l)
	switch codeOf(err) {
	case http.StatusUnprocessableEntity, http.StatusConflict, http.StatusNotFound:
		s.doubt(o)
		return nil, nil //nolint:nilnil // it was refused
	}
	if err != nil {
		return nil, err
	}
	if l.Metadata.UID != o.uid || l.Metadata.Annotations[annotation] != text {
		return nil, fmt.Errorf("the API server has not stored what it was told to in Lease %s: whatever changes writes of Leases, such as an admission webhook, must leave the annotation %s as it is", o.name, annotation)
	}
	return &object{name: o.name, uid: o.uid, text: text, content: c}, s.learn(now)
}

// create makes an object, and reports whether it was not there. It has no uid in its content
// yet, which nobody knows before.
func (s *store) create(ctx context.Context, name string, worker int, c content) (*object, bool, error) {
	c.UID, c.Stamp, c.Format, c.Writes = "", rand.Text(), format, 1
	text, err := c.text()
	if err != nil {
		return nil, false, err
	}
	l := lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: metadata{
		Name: name, Labels: map[string]string{labelNamespace: s.key}, Annotations: map[string]string{annotation: text, annotationName: s.namespace},
	}}
	if worker >= 0 {
		l.Metadata.Labels[labelWorker] = strconv.Itoa(worker)
	}
	body, err := json.Marshal(l)
	if err != nil {
		return nil, false, err
	}
	var stored lease
	now, err := s.call(ctx, request{verb: "create", method: http.MethodPost, content: "application/json", body: body}, &stored)
	switch {
	case codeOf(err) == http.StatusConflict:
		return nil, false, nil
	case codeOf(err) == http.StatusNotFound:
		return nil, false, fmt.Errorf("the Kubernetes namespace %q is not there: %w", s.in, err)
	case err != nil:
		return nil, false, err
	}
	return objectOf(stored), true, s.learn(now)
}

// errNoNamespace is the error of a namespace of which only the rest is there.
func (s *store) errNoNamespace() error {
	return fmt.Errorf("%w: namespace %q has slots and no record: Lease %s was deleted; it is made again when a generator starts, or with 'unalike init'",
		coord.ErrInvalid, s.namespace, s.metaName())
}

// looks is how often a look is made again because a slot was made meanwhile.
const looks = 3

// Look implements [protocol.Session]. The slot is read first: whatever change of the
// namespace's record is complete by then is seen by what is read after it.
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	for n := 1; ; n++ {
		before := s.sight()
		slot, _, err := s.get(ctx, s.slotName(worker))
		if err != nil {
			return nil, err
		}
		meta, now, err := s.get(ctx, s.metaName())
		if err != nil {
			return nil, err
		}
		lost := s.see(before, meta, map[int]*object{worker: slot})
		switch {
		case meta == nil && slot != nil && slot.ever():
			return nil, s.errNoNamespace()
		case meta == nil || meta.damage != nil:
		case meta.copied() && meta.Count > 0:
			lost = "the namespace's record was deleted and put back"
		case worker < meta.Count && slot == nil:
			lost = "a slot is gone"
		case worker < meta.Count && slot.copied():
			lost = "a slot was deleted and put back"
		case slot != nil && slot.damage == nil && slot.Change > meta.Change:
			lost = "a slot has seen a later change of the namespace's record"
		}
		if lost != "" && n < looks { // it may have been made, or changed, between
			continue
		}
		if lost != "" && meta.Change != meta.Done && meta.Mend {
			lost = "" // somebody is dealing with it
		}
		return s.view(meta, slot, worker, now, lost)
	}
}

// view is what was read of a worker ID.
func (s *store) view(meta, slot *object, worker int, now int64, lost string) (v *protocol.View, err error) {
	v = &protocol.View{Origin: lost}
	if v.Meta, err = entry[protocol.Meta](meta); err != nil {
		return nil, err
	}
	if slot == nil {
		return v, nil
	}
	if v.Slot, err = slotEntry(slot, worker); err != nil {
		return nil, err
	}
	v.Owned, v.Lease = s.owned(slot, now), slot.Ends
	if v.Meta.There() {
		v.Meta.Record.Floor = max(v.Meta.Record.Floor, slot.Floor)
	}
	return v, nil
}

// Probe implements [protocol.Session]. What the survey has listed with the namespace's record
// needs no other look.
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	slots := s.recent()
	if slots == nil {
		a, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		slots = a.slots
	}
	out := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		if o := slots[id]; o == nil {
			out[i].Err = fmt.Errorf("%w: Lease %s is gone", coord.ErrInvalid, s.slotName(id))
		} else {
			out[i].Slot, out[i].Err = slotEntry(o, id)
		}
	}
	return out, nil
}

// recent is what the last survey has listed; nil: something was changed since.
func (s *session) recent() map[int]*object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// relist notes what a survey has listed; nil: something was changed since.
func (s *session) relist(slots map[int]*object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = slots
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
				Worker: h.Worker, Mark: strconv.FormatInt(o.Ends, 10), Renewed: slot.Record.Renewed, TTL: slot.Record.Lease(),
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
		meta, _, err := s.get(ctx, s.metaName())
		if err == nil {
			l.Meta, err = entry[protocol.Meta](meta)
		}
		return l, err
	}
	a, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	if a.meta == nil && len(a.slots) > 0 {
		return nil, s.errNoNamespace()
	}
	if l.Meta, err = entry[protocol.Meta](a.meta); err != nil {
		return nil, err
	}
	for _, id := range a.ids() {
		o := a.slots[id]
		if s.owned(o, a.now) {
			l.Owned = append(l.Owned, id)
		}
		switch e, err := slotEntry(o, id); {
		case err != nil:
			l.Unreadable = append(l.Unreadable, err)
		case e.There():
			l.Slots = append(l.Slots, e.Record)
		}
	}
	return l, nil
}
