package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
)

// all is what one list shows of a namespace.
type all struct {
	meta  *object // nil: it is not there
	slots map[int]*object
	now   int64
	lost  string       // what shows that writes were lost that this process has seen; empty: nothing does
	turns atomic.Int64 // how many sessions of this process choose by it
	base  int64        // where the first of them begins
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
	if l.Kind != "LeaseList" || l.Metadata.Continue != "" {
		return fmt.Errorf("it is a %q, and not a complete list of Leases", l.Kind)
	}
	return nil
}

// list reads all in one consistent look.
func (s *store) list(ctx context.Context) (*all, error) { return s.lists.do(ctx, s.listNow) }

// listNow lists, and looks whether that is of what is stored if there is a doubt.
func (s *store) listNow(ctx context.Context) (*all, error) {
	before, doubted := s.sight(), s.doubted()
	a, err := s.listOnce(ctx)
	if err != nil {
		return nil, err
	}
	if still := s.settleDoubts(doubted, a); still != nil {
		if a, err = s.current(ctx, still, a); err != nil {
			return nil, err
		}
	}
	a.lost = s.see(before, a.meta, a.slots)
	return a, nil
}

// listOnce makes the request of list.
func (s *store) listOnce(ctx context.Context) (*all, error) {
	var l leaseList
	now, err := s.call(ctx, request{verb: "list", method: http.MethodGet, query: url.Values{"labelSelector": {labelNamespace + "=" + s.key}}}, &l)
	if err != nil {
		return nil, err
	}
	a := &all{slots: map[int]*object{}, now: now, base: rand.Int64N(MaxCapacity)}
	for i := range l.Items {
		o := objectOf(l.Items[i])
		if o.name == s.metaName() {
			a.meta = o
		} else if worker, err := s.workerOf(o.name); err == nil {
			a.slots[worker] = o
		}
	}
	return a, s.learn(now)
}

// missing describes what was lost: slots that the namespace's record counts and that are not
// there, or are copies, and a record that slots have seen a later change of. Empty: nothing.
func (a *all) missing() string {
	gone, copies := 0, 0
	for worker := range a.meta.Count {
		switch o := a.slots[worker]; {
		case o == nil:
			gone++
		case o.copied():
			copies++
		}
	}
	switch {
	case a.meta.copied():
		return "the namespace's record was deleted and put back"
	case a.newest() > a.meta.Change:
		return fmt.Sprintf("slots have seen change %d of the namespace's record, which has seen %d", a.newest(), a.meta.Change)
	case gone > 0:
		return fmt.Sprintf("%d slots are gone", gone)
	case copies > 0:
		return fmt.Sprintf("%d slots were deleted and put back", copies)
	}
	return a.lost
}

// find returns an object as it was listed; nil: it was not.
func (s *store) find(a *all, name string) *object {
	if name == s.metaName() {
		return a.meta
	}
	worker, err := s.workerOf(name)
	if err != nil {
		return nil
	}
	return a.slots[worker]
}

// ids are the worker IDs that have a slot, in ascending order.
func (a *all) ids() []int { return slices.Sorted(maps.Keys(a.slots)) }

// newest is the number of the newest change that slots have seen.
func (a *all) newest() (n int64) {
	for _, o := range a.slots {
		if o.damage == nil {
			n = max(n, o.Change)
		}
	}
	return n
}

// floor is the highest that slots have seen.
func (a *all) floor() (floor int64) {
	for _, o := range a.slots {
		if o.damage == nil {
			floor = max(floor, o.Floor)
		}
	}
	return floor
}

// used counts the worker IDs that were ever granted or retired.
func (a *all) used() (n int) {
	for _, o := range a.slots {
		if o.ever() {
			n++
		}
	}
	return n
}
