package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

const (
	// annotationUsed begins the name of a mark, which says that a worker ID was granted: its value
	// is the uid of the worker ID's object.
	annotationUsed = "unalike/used-"
	// annotationUID is the uid of the object that has the marks: one that was put back has another.
	annotationUID = "unalike/uid"
	// perMarks is how many worker IDs have their marks in one object.
	perMarks = 64
	// tries is how often something is looked at again before it is given up.
	tries = 20
)

// marks are an object that has the marks of worker IDs.
type marks struct {
	name, uid string
	self      string         // the uid that it says it has; empty: it is new
	of        map[int]string // the uids of the worker IDs' objects
}

// marksOf reads the marks in a Lease.
func marksOf(l lease) *marks {
	m, notes := &marks{name: l.Metadata.Name, uid: l.Metadata.UID}, l.Metadata.Annotations
	m.self, m.of = notes[annotationUID], map[int]string{}
	for name, uid := range notes {
		if id := numberOf(name, annotationUsed); id >= 0 {
			m.of[id] = uid
		}
	}
	return m
}

// gone reports whether marks were lost.
func (m *marks) gone() bool { return m == nil || m.self != m.uid }

// mark is the uid of a worker ID's object; empty: it has none.
func (m *marks) mark(worker int) string {
	if m == nil {
		return ""
	}
	return m.of[worker]
}

// missing describes what shows that the slot of a worker ID was lost; empty: nothing.
func (m *marks) missing(worker int, slot *object) string {
	uid := m.mark(worker)
	switch {
	case uid == "" || slot != nil && slot.uid == uid:
		return ""
	case slot == nil:
		return fmt.Sprintf("the slot of worker ID %d is gone", worker)
	}
	return fmt.Sprintf("the slot of worker ID %d was deleted and put back", worker)
}

// marksName is the name of the n-th object that has marks, counted from 0.
func (s *store) marksName(n int) string { return s.objectName(-1) + ".used-" + strconv.Itoa(n) }

// readMarks returns the marks among which is that of a worker ID; nil: they are gone.
func (s *store) readMarks(ctx context.Context, worker int) (*marks, error) {
	l, _, err := s.read(ctx, s.marksName(worker/perMarks))
	if l == nil || err != nil {
		return nil, err
	}
	return marksOf(*l), nil
}

// setMarks changes marks of an object from what they are to what they should be; empty: there is
// none. It reports whether that was done. It was not if the marks were others, or are lost.
func (s *store) setMarks(
	ctx context.Context, name string, from, to map[int]string, ops ...operation,
) (bool, error) {
	for _, id := range slices.Sorted(maps.Keys(to)) {
		at := place(annotationUsed + strconv.Itoa(id))
		test, set := operation{"test", at, from[id]}, operation{"add", at, to[id]}
		if from[id] == "" {
			test.Value = nil
		}
		if to[id] == "" {
			set = operation{"remove", at, nil}
		}
		ops = append(ops, test, set)
	}
	l, err := s.patch(ctx, name, ops)
	if l == nil || err != nil {
		return false, err
	}
	m := marksOf(*l)
	for id, uid := range to {
		if m.of[id] != uid {
			return false, errChanged(name, annotationUsed+strconv.Itoa(id))
		}
	}
	return !m.gone(), nil
}

// mark marks the object of a worker ID, unless the worker ID has a mark already, which may be that
// of another object. It reports whether nothing was lost meanwhile: whoever deletes the object from
// now on leaves the mark.
func (s *store) mark(ctx context.Context, worker int, o *object) (bool, error) {
	done, err := s.setMarks(ctx, s.marksName(worker/perMarks), nil, map[int]string{worker: o.uid})
	if err != nil || !done {
		return false, err
	}
	now, _, err := s.get(ctx, o.name)
	return now != nil && now.uid == o.uid && now.text == o.text, err
}

// marked makes sure that the object of a worker ID has a mark, as mark does. What was listed spares
// a request.
func (s *store) marked(ctx context.Context, worker int, o *object, a *all) (_ bool, err error) {
	var m *marks
	if a != nil {
		m = a.marksOf(worker)
	} else if m, err = s.readMarks(ctx, worker); err != nil {
		return false, err
	}
	if m.mark(worker) == o.uid {
		return true, nil
	}
	return s.mark(ctx, worker, o)
}

// settle makes the marks say which slots are there, and then has the record say that they do. The
// floor was raised for what is missing, or the namespace is new. Where others have changed
// something, less is done. It returns the record as it is then; nil: it is not known.
func (s *store) settle(ctx context.Context, a *all) (*object, error) {
	for n := range a.marksCount() {
		to, m := map[int]string{}, a.marks[n]
		if m == nil {
			l, err := s.create(ctx, s.newLease(s.marksName(n)))
			if l == nil || err != nil {
				return nil, err
			}
			m = marksOf(*l)
		}
		for id := range m.of {
			if a.slots[id] == nil {
				to[id] = ""
			}
		}
		for id, o := range a.slots {
			if id/perMarks == n && m.of[id] != o.uid {
				to[id] = o.uid
			}
		}
		if len(to) == 0 && !m.gone() {
			continue
		}
		done, err := s.setMarks(ctx, m.name, m.of, to,
			operation{"test", "/metadata/uid", m.uid}, operation{"add", place(annotationUID), m.uid})
		if !done || err != nil {
			return nil, err
		}
	}
	c := a.meta.next()
	c.UID = a.meta.uid
	o, err := s.write(ctx, a.meta, c, nil)
	if o == nil && err == nil {
		err = s.checkCache(ctx, a.meta)
	}
	return o, err
}
