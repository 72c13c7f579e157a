package kubernetes

import (
	"context"
	"fmt"
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
)

// mark is the annotation that marks a worker ID.
func mark(worker int) string { return annotationUsed + strconv.Itoa(worker) }

// marksName is the name of the n-th object that has marks, counted from 0.
func (s *store) marksName(n int) string { return s.objectName(-1) + ".used-" + strconv.Itoa(n) }

// gone reports whether the marks in an object were lost.
func (l *lease) gone() bool {
	return l == nil || l.Metadata.Annotations[annotationUID] != l.Metadata.UID
}

// marked is the uid of a worker ID's object, by its mark; empty: it has none.
func (l *lease) marked(worker int) string {
	if l == nil {
		return ""
	}
	return l.Metadata.Annotations[mark(worker)]
}

// replaced describes what shows that a worker ID's object is another one than was granted; empty:
// nothing. An earlier holder would go on in what was put back.
func (l *lease) replaced(worker int, slot *object) string {
	if uid := l.marked(worker); uid == "" || l.gone() || slot.uid == uid {
		return ""
	}
	return fmt.Sprintf("the slot of worker ID %d was deleted and put back", worker)
}

// mark marks the object of a worker ID, unless another object has the mark. It reports whether
// nothing was lost meanwhile: whoever deletes the object from now on leaves the mark.
func (s *store) mark(ctx context.Context, worker int, o *object) (bool, error) {
	name, to := s.marksName(worker/perMarks), map[string]string{mark(worker): o.uid}
	m, done, err := s.patch(ctx, name, "", nil, to, nil)
	if err != nil || !done || m.gone() {
		return false, err
	}
	now, err := s.get(ctx, o.name)
	return now != nil && now.uid == o.uid && now.text == o.text, err
}

// finishMarks makes the marks say which slots are there, and then has the record say that they do.
// The floor was raised for what is missing, or the namespace is new. Where others have changed
// something, less is done. It returns the record as it is then; nil: it is not known.
func (s *store) finishMarks(ctx context.Context, meta *object, a *all) (*object, error) {
	for n := range a.marksCount() {
		name, m := s.marksName(n), a.marks[n]
		if m == nil {
			made, done, err := s.create(ctx, name, nil, nil)
			if m = made; !done { // somebody else is at it
				return nil, err
			}
		}
		to := map[string]string{annotationUID: m.Metadata.UID}
		for name := range m.Metadata.Annotations {
			if id := numberOf(name, annotationUsed); id >= 0 && a.slots[id] == nil {
				to[name] = ""
			}
		}
		for id, o := range a.slots {
			if id/perMarks == n {
				to[mark(id)] = o.uid
			}
		}
		if len(changes(m.Metadata.Annotations, to)) == 0 {
			continue
		}
		_, done, err := s.patch(ctx, name, m.Metadata.UID, m.Metadata.Annotations, to, nil)
		if !done || err != nil {
			return nil, err
		}
	}
	c := meta.next()
	c.UID = meta.uid
	now, done, err := s.write(ctx, meta, c)
	if !done {
		return nil, err
	}
	return now, err
}
