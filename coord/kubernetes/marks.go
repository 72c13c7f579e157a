package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// annotationUsed begins the name of a mark, which says that a worker ID was granted: its value
	// is the uid of the worker ID's object.
	annotationUsed = "unalike/used-"
	// perMarks is how many worker IDs have their marks in one object. There would be room for 4,096,
	// but whoever starts for the first time writes there, and an API server lets writes of one
	// object take turns.
	perMarks = 64
	// tries is how often something is looked at again before it is given up.
	tries = 10
)

// marks are an object that has the marks of worker IDs.
type marks struct {
	name, uid string
	of        map[int]string // the uids of the worker IDs' objects
}

// marksOf reads the marks in a Lease.
func (s *store) marksOf(l lease) *marks {
	m := &marks{name: l.Metadata.Name, uid: l.Metadata.UID, of: map[int]string{}}
	for name, uid := range l.Metadata.Annotations {
		if id, err := s.numberOf(name, annotationUsed, MaxCapacity); err == nil {
			m.of[id] = uid
		}
	}
	return m
}

// missing describes what shows that the slot of a worker ID was lost; empty: nothing.
func (m *marks) missing(worker int, slot *object) string {
	uid, marked := m.of[worker]
	switch {
	case !marked || slot != nil && slot.uid == uid:
		return ""
	case slot == nil:
		return fmt.Sprintf("the slot of worker ID %d is gone", worker)
	}
	return fmt.Sprintf("the slot of worker ID %d was deleted and put back", worker)
}

// marksName is the name of the n-th object that has marks, counted from 0.
func (s *store) marksName(n int) string { return s.objectName(-1) + ".used-" + strconv.Itoa(n) }

// inMarks is the place of a mark, as a patch names it.
func inMarks(worker int) string {
	return "/metadata/annotations/" + strings.ReplaceAll(annotationUsed, "/", "~1") + strconv.Itoa(worker)
}

// checkMarks returns an error if the answer to a write does not have the marks that it should.
func (s *store) checkMarks(l lease, want map[int]string) error {
	m := s.marksOf(l)
	for id, uid := range want {
		if m.of[id] != uid {
			return fmt.Errorf("%w in Lease %s: whatever changes writes of Leases, such as an admission webhook, must leave the annotation %s%d as it is", errChanged, m.name, annotationUsed, id)
		}
	}
	return nil
}

// patchMarks changes marks, if the object of a uid has them, which has those that are wanted then.
// It reports whether that was done, and returns an error if that is not known.
func (s *store) patchMarks(ctx context.Context, m *marks, ops []operation, want map[int]string) (bool, error) {
	body, err := json.Marshal(append([]operation{{"test", "/metadata/uid", m.uid}, unmanaged}, ops...))
	if err != nil {
		return false, err
	}
	for n := 0; ; n++ {
		if err := lifetime.Pause(ctx, n); err != nil {
			return false, err
		}
		var l lease
		now, err := s.change(ctx, request{verb: "patch", method: http.MethodPatch, name: m.name, content: patchType, body: body}, &l)
		switch code := codeOf(err); {
		case err == nil:
			return true, cmp.Or(s.checkMarks(l, want), s.learn(now))
		case code == http.StatusConflict && n < tries: // many write at once
		case code == http.StatusConflict || code == http.StatusUnprocessableEntity || code == http.StatusNotFound:
			return false, nil
		default:
			return false, err
		}
	}
}

// marked makes sure that the object of a worker ID has a mark, as mark does.
func (s *store) marked(ctx context.Context, worker int, o *object, a *all) (bool, error) {
	m, err := s.marksOfWorker(ctx, worker, a)
	if m == nil || err != nil {
		return false, err
	}
	if m.of[worker] == o.uid {
		return true, nil
	}
	return s.mark(ctx, m, worker, o)
}

// mark marks the object of a worker ID, unless the worker ID has a mark already, which is then of
// another object, and reports whether nothing was lost meanwhile: whoever deletes the object from
// now on leaves the mark.
func (s *store) mark(ctx context.Context, m *marks, worker int, o *object) (bool, error) {
	done, err := s.patchMarks(ctx, m, []operation{{"test", inMarks(worker), nil}, {"add", inMarks(worker), o.uid}}, map[int]string{worker: o.uid})
	if err != nil || !done {
		return false, err
	}
	now, _, err := s.get(ctx, o.name)
	return err == nil && now.is(o), err
}

// marksOfWorker are the marks among which is that of a worker ID, as they were listed or, if that is
// not known, are stored; nil: they are gone.
func (s *store) marksOfWorker(ctx context.Context, worker int, a *all) (*marks, error) {
	if a != nil && a.used[worker/perMarks] != nil {
		return a.used[worker/perMarks], nil
	}
	var l lease
	now, err := s.call(ctx, request{verb: "get", method: http.MethodGet, name: s.marksName(worker / perMarks)}, &l)
	switch {
	case codeOf(err) == http.StatusNotFound:
		return nil, s.learn(now)
	case err != nil:
		return nil, err
	}
	return s.marksOf(l), s.learn(now)
}

// settle makes the marks say which slots are there, and then has the record say that they do. The
// floor was raised for what is missing, or the namespace is new. It returns what is stored then;
// nil: others have changed something, and it is to be listed again.
func (s *store) settle(ctx context.Context, a *all) (*all, error) {
	meta, err := entry[protocol.Meta](a.meta)
	if err != nil {
		return nil, err
	}
	c, used := a.meta.next(), map[int]*marks{}
	c.UID, c.Marks = a.meta.uid, nil
	for n := range (min(meta.Record.Capacity, MaxCapacity) + perMarks - 1) / perMarks {
		of := map[int]string{}
		for id, o := range a.slots {
			if id/perMarks == n {
				of[id] = o.uid
			}
		}
		m, err := s.remark(ctx, a.used[n], n, of)
		if m == nil || err != nil {
			return nil, err
		}
		used[n], c.Marks = m, append(c.Marks, m.uid)
	}
	o, err := s.write(ctx, a.meta, c, nil)
	if o == nil && err == nil {
		err = s.checkCache(ctx, a.meta)
	}
	if o == nil || err != nil {
		return nil, err
	}
	return &all{meta: o, slots: a.slots, used: used, now: a.now, base: a.base}, nil
}

// remark makes marks what they should be; m is nil if there are none. It returns nil if they were
// changed meanwhile.
func (s *store) remark(ctx context.Context, m *marks, n int, of map[int]string) (*marks, error) {
	if m == nil {
		l := s.newLease(s.marksName(n), -1)
		for id, uid := range of {
			l.Metadata.Annotations[annotationUsed+strconv.Itoa(id)] = uid
		}
		made, err := s.post(ctx, l)
		if made == nil || err != nil {
			return nil, err
		}
		return s.marksOf(*made), s.checkMarks(*made, of)
	}
	var ops []operation
	for _, id := range slices.Sorted(maps.Keys(m.of)) {
		switch uid, there := of[id]; {
		case !there:
			ops = append(ops, operation{"test", inMarks(id), m.of[id]}, operation{"remove", inMarks(id), nil})
		case uid != m.of[id]:
			ops = append(ops, operation{"test", inMarks(id), m.of[id]}, operation{"replace", inMarks(id), uid})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(of)) {
		if m.of[id] == "" {
			ops = append(ops, operation{"test", inMarks(id), nil}, operation{"add", inMarks(id), of[id]})
		}
	}
	if len(ops) > 0 {
		if done, err := s.patchMarks(ctx, m, ops, of); !done || err != nil {
			return nil, err
		}
	}
	return &marks{name: m.name, uid: m.uid, of: of}, nil
}
