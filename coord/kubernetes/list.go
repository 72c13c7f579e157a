package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// all is what one list shows of a namespace.
type all struct {
	meta  *object // nil: it is not there
	slots map[int]*object
	used  map[int]*marks // which worker IDs were granted
	lost  string         // what shows that writes were lost that this process has seen; empty: nothing does
	now   int64
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

// wideTime is for how long labels are not relied on after an object was met that no list by labels
// had shown.
const wideTime = time.Minute

// list reads all in one consistent look.
func (s *store) list(ctx context.Context) (*all, error) { return s.lists.do(ctx, s.listNow) }

// listNow lists by labels, and if what is marked is not all there, everything: labels can be lost.
func (s *store) listNow(ctx context.Context) (*all, error) {
	s.mu.Lock()
	wide := !s.hidden.IsZero() && lifetime.Since(s.hidden) < wideTime
	s.mu.Unlock()
	if !wide {
		a, err := s.listOnce(ctx, url.Values{"labelSelector": {labelNamespace + "=" + s.key}})
		if err != nil || a.meta != nil && a.settled() && a.missing() == "" {
			return a, err
		}
	}
	return s.listOnce(ctx, nil)
}

// hide takes note of an object that the last list did not show.
func (s *store) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = lifetime.Now()
}

// listOnce makes the request of list.
func (s *store) listOnce(ctx context.Context, query url.Values) (*all, error) {
	before := s.sight()
	var l leaseList
	now, err := s.call(ctx, request{verb: "list", method: http.MethodGet, query: query}, &l)
	if err != nil {
		return nil, err
	}
	a := &all{slots: map[int]*object{}, used: map[int]*marks{}, now: now, base: rand.Int64N(MaxCapacity)}
	for _, l := range l.Items {
		worker, err := s.workerOf(l.Metadata.Name)
		if n, is := s.numberOf(l.Metadata.Name, s.objectName(-1)+".used-", MaxCapacity); is == nil {
			a.used[n] = s.marksOf(l)
		} else if err == nil || l.Metadata.Name == s.objectName(-1) {
			o := objectOf(l)
			if errors.Is(o.damage, errFormat) {
				return nil, o.damage
			}
			if a.slots[worker] = o; worker < 0 {
				a.meta = o
			}
		}
	}
	delete(a.slots, -1)
	a.lost = s.see(before, a)
	return a, s.learn(now)
}

// settled reports whether the marks say what is there, unless something was lost since.
func (a *all) settled() bool { return a.meta.damage != nil || len(a.meta.Marks) > 0 }

// mark is that of a worker ID; empty: it has none.
func (a *all) mark(worker int) string {
	if m := a.used[worker/perMarks]; m != nil {
		return m.of[worker]
	}
	return ""
}

// missing describes what was lost: a record that slots have seen a later state of, or that is
// another object than it says; the marks; slots that are marked and are not there, or are other
// objects. Empty: nothing.
func (a *all) missing() string {
	if why := a.missingRecord(); why != "" || a.meta.damage != nil {
		return why
	}
	for n, uid := range a.meta.Marks {
		m := a.used[n]
		if m == nil || m.uid != uid {
			return "the marks of worker IDs that were granted are gone"
		}
		for id := range m.of {
			if why := m.missing(id, a.slots[id]); why != "" {
				return why
			}
		}
	}
	return a.lost
}

// missingRecord is missing for the namespace's record alone.
func (a *all) missingRecord() string {
	switch {
	case a.meta.damage != nil:
		return ""
	case a.meta.copied():
		return "the namespace's record was deleted and put back"
	case a.newest() > a.meta.Writes:
		return fmt.Sprintf("slots have seen write %d of the namespace's record, and the last is %d", a.newest(), a.meta.Writes)
	}
	return ""
}

// ids are the worker IDs that have a slot, in ascending order.
func (a *all) ids() []int { return slices.Sorted(maps.Keys(a.slots)) }

// most is the highest that slots have of something.
func (a *all) most(of func(o *object) int64) (n int64) {
	for _, o := range a.slots {
		if o.damage == nil {
			n = max(n, of(o))
		}
	}
	return n
}

// newest is the last write of the namespace's record that slots have seen.
func (a *all) newest() int64 { return a.most(func(o *object) int64 { return o.Seen }) }

// marked counts the worker IDs that have a mark.
func (a *all) marked() (n int) {
	for _, m := range a.used {
		n += len(m.of)
	}
	return n
}

// damage is that of the namespace's record.
func (a *all) damage() error {
	if a == nil {
		return nil
	}
	return a.meta.damage
}
