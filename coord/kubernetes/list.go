package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/unalike-id/unalike/internal/protocol"
)

// all is what one list shows of a namespace.
type all struct {
	meta   *object // nil: it is not there
	record protocol.Entry[protocol.Meta]
	damage error // of the record
	slots  map[int]*object
	marks  map[int]*lease // which worker IDs were granted
	server protocol.Span  // the API server's clock when it had made the list
	others []string       // other namespaces that have a record
	mended atomic.Bool    // a session of this process does what is half done
}

// leaseList is the answer to a list.
type leaseList struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []lease `json:"items"`
}

// check implements [answer]. A part of a list would look like a loss.
func (l *leaseList) check(request) error {
	if l.Kind != "LeaseList" {
		return fmt.Errorf("%w: a %q, and no list of Leases", errKind, l.Kind)
	}
	if l.Metadata.Continue != "" {
		return errors.New("it is no complete list of Leases")
	}
	return nil
}

// list reads all in one consistent look that was begun since it was asked for. Who asks while a
// list is made shares the next one.
func (s *store) list(ctx context.Context) (_ *all, err error) {
	asked := s.begun.Load()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if s.last == nil || s.begun.Load() == asked {
		s.begun.Add(1)
		s.last, err = s.listNow(ctx)
	}
	return s.last, err
}

// listNow makes the request of list. It does not rely on labels, which can be lost: names tell.
func (s *store) listNow(ctx context.Context) (*all, error) {
	var l leaseList
	server, err := s.call(ctx, request{verb: "list"}, &l)
	if err != nil {
		return nil, err
	}
	name := s.objectName(-1)
	a := &all{slots: map[int]*object{}, marks: map[int]*lease{}, server: server}
	for _, l := range l.Items {
		n, id := numberOf(l.Metadata.Name, name+".used-"), numberOf(l.Metadata.Name, name+".")
		switch {
		case n >= 0:
			a.marks[n] = &l
		case id >= 0:
			a.slots[id] = objectOf(&l)
		case l.Metadata.Name == name:
			a.meta = objectOf(&l)
		case strings.HasPrefix(l.Metadata.Name, objectPrefix) && strings.Count(l.Metadata.Name, ".") == 1:
			a.others = append(a.others, l.Metadata.Annotations[annotationName])
		}
	}
	a.record, a.damage = entry[protocol.Meta](a.meta)
	return a, nil
}

// marksOf are those among which is that of a worker ID.
func (a *all) marksOf(worker int) *lease { return a.marks[worker/perMarks] }

// marksCount is how many objects have marks.
func (a *all) marksCount() int {
	return (min(a.record.Record.Capacity, MaxCapacity) + perMarks - 1) / perMarks
}

// missing describes what was lost of a namespace whose record can be read: a record that slots have
// seen a later state of, or that is another object than it says; the marks; slots that are marked
// and are not there, or are other objects. Empty: nothing.
func (a *all) missing() string {
	if why := a.meta.lost(a.newest()); why != "" || !a.meta.settled() {
		return why
	}
	for n := range a.marksCount() {
		m := a.marks[n]
		if m.gone() {
			return "the marks of worker IDs that were granted are gone, or were deleted and put back"
		}
		for name := range m.Metadata.Annotations {
			id := numberOf(name, annotationUsed)
			if id < 0 {
				continue
			}
			if a.slots[id] == nil {
				return fmt.Sprintf("the slot of worker ID %d is gone", id)
			}
			if why := m.replaced(id, a.slots[id]); why != "" {
				return why
			}
		}
	}
	return ""
}

// lost describes what shows that the namespace's record was lost, of which slots have seen a write;
// empty: nothing.
func (o *object) lost(seen int64) string {
	switch {
	case o == nil:
		return "the namespace's record is gone"
	case o.settled() && o.UID != o.uid:
		return "the namespace's record was deleted and put back"
	case seen > o.Writes:
		return fmt.Sprintf("slots have seen write %d of the namespace's record, and the last is %d",
			seen, o.Writes)
	}
	return ""
}

// ids are the worker IDs that have a slot, in ascending order.
func (a *all) ids() []int { return slices.Sorted(maps.Keys(a.slots)) }

// most is the highest that slots have of something; one that cannot be read has nothing.
func (a *all) most(of func(o *object) int64) (n int64) {
	for _, o := range a.slots {
		n = max(n, of(o))
	}
	return n
}

// newest is the last write of the namespace's record that slots have seen.
func (a *all) newest() int64 { return a.most(func(o *object) int64 { return o.Seen }) }
