package kubernetes

import (
	"fmt"
	"maps"

	"github.com/unalike-id/unalike/internal/protocol"
)

// seen is which writes of slots this process has seen last, since the last loss on record. No
// slot is written less often later, nor so often by another write, unless writes were lost:
// the numbers of Kubernetes come again with an old state of its store.
type seen struct {
	since string // the nonces of namespace and loss
	slots map[int]mark
}

// mark is a write of a slot.
type mark struct {
	uid    string
	writes int64
	stamp  string
}

// sight returns what was seen so far.
func (s *store) sight() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return seen{s.seen.since, maps.Clone(s.seen.slots)}
}

// see takes note of slots in an answer to a request that was made after a sight. It says what
// shows a loss; empty: nothing does.
func (s *store) see(before seen, a *all) (lost string) {
	e, err := entry[protocol.Meta](a.meta)
	if err != nil || !e.There() {
		return ""
	}
	since := e.Record.Nonce + e.Record.Loss.Nonce
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.since != since {
		s.seen = seen{since, map[int]mark{}}
	}
	for id, o := range a.slots {
		if o.damage != nil || a.mark(id) != "" && a.mark(id) != o.uid {
			continue
		}
		if now := (mark{o.uid, o.Writes, o.Stamp}); now.writes > s.seen.slots[id].writes {
			s.seen.slots[id] = now
		}
		old, known := before.slots[id]
		if known && before.since == since && (o.Writes < old.writes || o.Writes == old.writes && o.Stamp != old.stamp) {
			lost = fmt.Sprintf("write %d of worker ID %d's slot is gone, and the last is %d", old.writes, id, o.Writes)
		}
	}
	return lost
}

// wrote takes note of a write of a slot.
func (s *store) wrote(worker int, o *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.slots != nil && o.Writes > s.seen.slots[worker].writes {
		s.seen.slots[worker] = mark{o.uid, o.Writes, o.Stamp}
	}
}

// met reports whether this process has seen an object of a worker ID, which the marks do not
// contradict then.
func (s *store) met(worker int, o *object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o != nil && s.seen.slots[worker].uid == o.uid
}
