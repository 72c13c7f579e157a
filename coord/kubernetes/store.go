package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
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

	mu     sync.Mutex
	server int64          // the API server's clock, when it was learned; 0: it was not
	at     time.Time      // monotonic
	held   map[string]int // the worker IDs of tokens of this process
	seen   seen
	hidden time.Time      // when an object was met that no list had shown; monotonic
	bars   map[string]bar // writes that are refused, by their verb
}

func newStore(a *api, namespace string, o Options) *store {
	return &store{
		api: a, namespace: namespace, key: keyOf(namespace), skew: o.SkewBound.Microseconds(), log: o.Logger,
		held: map[string]int{}, bars: map[string]bar{},
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

	listed *all         // by the last survey
	used   bool         // something was changed since
	beaten int          // how often somebody was faster with a grant since
	turn   atomic.Int64 // of this session, among those of this process that choose by the same list
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

// patchType is what HTTP calls a JSON Patch.
const patchType = "application/json-patch+json"

// write replaces the content of an object, if it is as it was read. Not done, it returns no
// error if that is certain.
func (s *store) write(ctx context.Context, o *object, c content, see *spec) (*object, error) {
	body, text, err := s.patch(o, c, see)
	if err != nil {
		return nil, err
	}
	var l lease
	now, err := s.change(ctx, request{verb: "patch", method: http.MethodPatch, name: o.name, content: patchType, body: body}, &l)
	switch codeOf(err) {
	case http.StatusUnprocessableEntity, http.StatusConflict, http.StatusNotFound:
		return nil, nil //nolint:nilnil // it was refused
	}
	if err != nil {
		return nil, err
	}
	if l.Metadata.UID != o.uid {
		return nil, fmt.Errorf("the API server has written Lease %s, and answers with another object", o.name)
	}
	if err := s.learn(now); err != nil {
		return nil, err
	}
	return s.stored(l, text)
}

// errChanged says that an answer to a write is not what was written.
var errChanged = errors.New("the API server has not stored what it was told to")

// stored is an object as a write has left it.
func (s *store) stored(l lease, text string) (*object, error) {
	o := objectOf(l)
	if o.text != text {
		return nil, fmt.Errorf("%w in Lease %s: whatever changes writes of Leases, such as an admission webhook, must leave the annotation %s as it is", errChanged, o.name, annotation)
	}
	return o, nil
}

// newLease is a Lease that is to be made.
func (s *store) newLease(name string, worker int) lease {
	return lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: metadata{
		Name: name, Labels: s.labels(worker), Annotations: map[string]string{annotationName: s.namespace},
	}}
}

// create makes the object of a worker ID, or with -1 that of the namespace; nil: it is there.
func (s *store) create(ctx context.Context, worker int, c content, see *spec) (*object, error) {
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	l := s.newLease(s.objectName(worker), worker)
	l.Metadata.Annotations[annotation] = text
	if see != nil {
		l.Spec = *see
	}
	made, err := s.post(ctx, l)
	if made == nil || err != nil {
		return nil, err
	}
	return s.stored(*made, text)
}

// post makes a Lease; nil: it is there.
func (s *store) post(ctx context.Context, l lease) (*lease, error) {
	body, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	var made lease
	now, err := s.change(ctx, request{verb: "create", method: http.MethodPost, content: "application/json", body: body}, &made)
	switch {
	case codeOf(err) == http.StatusConflict:
		return nil, nil //nolint:nilnil // it is there
	case codeOf(err) == http.StatusNotFound:
		return nil, fmt.Errorf("the Kubernetes namespace %q is not there: %w", s.in, err)
	case err != nil:
		return nil, err
	}
	return &made, s.learn(now)
}

// errNoNamespace is the error of a namespace of which only the rest is there.
func (s *store) errNoNamespace() error {
	return fmt.Errorf("%w: namespace %q has slots and no record: Lease %s was deleted; it is made again when a generator starts, or with 'unalike init'",
		coord.ErrInvalid, s.namespace, s.objectName(-1))
}

// looks is how often a look is made again because a slot was made, or the record changed, meanwhile.
const looks = 3

// Look implements [protocol.Session]. The slot is read first: whatever change of the namespace's
// record was made by then is seen by what is read after it.
func (s *session) Look(ctx context.Context, worker int, _ string) (v *protocol.View, _ error) {
	if err := s.barred("patch"); err != nil {
		return nil, err // whoever looks is about to write
	}
	for n := 1; ; n++ {
		slot, _, err := s.get(ctx, s.objectName(worker))
		if err != nil {
			return nil, err
		}
		var used *marks
		if !s.met(worker, slot) {
			if used, err = s.marksOfWorker(ctx, worker, nil); err != nil {
				return nil, err
			}
		}
		meta, now, err := s.get(ctx, s.objectName(-1))
		if err != nil {
			return nil, err
		}
		v = &protocol.View{Origin: cmp.Or(lost(meta, slot), unlike(meta, used, worker, slot))}
		if v.Origin != "" && n < looks { // it may have been made, or changed, between
			continue
		}
		if v.Meta, err = entry[protocol.Meta](meta); err != nil || slot == nil {
			return v, err
		}
		v.Owned, v.Lease = s.owned(slot, now), slot
		v.Slot, err = slotEntry(slot, worker)
		return v, err
	}
}

// lost describes what shows in the namespace's record, and in a slot that was read before it, that
// something was lost; empty: nothing.
func lost(meta, slot *object) string {
	switch {
	case slot == nil:
		slot = &object{}
	case meta == nil:
		return "the namespace's record is gone"
	}
	if meta == nil {
		return ""
	}
	return (&all{meta: meta, slots: map[int]*object{0: slot}}).missingRecord()
}

// unlike describes what shows in the marks that a slot, which was read before them, was lost; empty:
// nothing.
func unlike(meta *object, used *marks, worker int, slot *object) string {
	if meta == nil || used == nil || meta.damage != nil || !slices.Contains(meta.Marks, used.uid) {
		return "" // others are dealing with it, or the next survey finds it
	}
	return used.missing(worker, slot)
}

// Probe implements [protocol.Session]. What the survey has listed with the namespace's record
// needs no other look.
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	s.mu.Lock()
	a := s.listed
	if s.used {
		a = nil
	}
	s.mu.Unlock()
	if a == nil {
		var err error
		if a, err = s.list(ctx); err != nil {
			return nil, err
		}
	}
	out := make([]protocol.Probe, len(workers))
	for i, id := range workers {
		out[i].Slot, out[i].Err = slotEntry(a.slots[id], id)
	}
	return out, nil
}

// use returns what the last survey has listed, because something is about to be changed; nil: there
// was none.
func (s *session) use() *all {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	return s.listed
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
		meta, _, err := s.get(ctx, s.objectName(-1))
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
	if a.meta != nil && a.missing() != "" {
		l.Unreadable = append(l.Unreadable, fmt.Errorf("something was lost: %s; a generator that starts deals with it, or 'unalike quarantine'", a.missing()))
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
