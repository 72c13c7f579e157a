package segment

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// keep reads the list when somebody wants that, and from time to time, until the set is closed. A
// store that does not answer leaves it as it is, and is asked again soon, because Check tells of
// it.
func (s *Set) keep() {
	pause := refreshEvery
	for {
		select {
		case <-s.wanted:
		case <-time.After(pause):
		case <-s.life.Done():
			return
		}
		s.mu.Lock()
		r := s.refresh
		s.refresh = newRefresh() // who comes now needs a later one
		s.mu.Unlock()
		began := time.Now()
		r.err = s.reload(s.life)
		close(r.done)
		if pause = refreshEvery; r.err != nil {
			pause = refreshAgain
		}
		select {
		case <-time.After(refreshPause - time.Since(began)):
		case <-s.life.Done():
			return
		}
	}
}

// reread waits for a reading of the list that begins after the call.
func (s *Set) reread(ctx context.Context) error {
	s.mu.Lock()
	r := s.refresh
	s.mu.Unlock()
	select {
	case s.wanted <- struct{}{}:
	default: // somebody has said so
	}
	select {
	case <-r.done:
		return r.err
	case <-s.life.Done():
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: the list of tags: %w", ErrUnavailable, context.Cause(ctx))
	}
}

// reload reads the list. New tags get a sequence, and those of deleted ones end. Groups of a tag
// that is there are no tags.
func (s *Set) reload(ctx context.Context) error {
	ctx, cancel := s.cfg.bounded(ctx)
	defer cancel()
	tags, err := s.store.Tags(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.unread = nil; err != nil {
		s.unread = fmt.Errorf("%w: the list of tags: %w", ErrUnavailable, err)
		return s.unread
	}
	names := make(map[string]bool, len(tags))
	for _, t := range tags {
		names[t.Name] = true
	}
	old := *s.all.Load()
	all := make(map[string]*Sequence, len(tags))
	for _, t := range tags {
		if CheckTag(t.Name) != nil || isGroup(t.Name, names) { //mutant:segment-groups-listed
			continue // it is not ours
		}
		q := old[t.Name]
		if q == nil {
			q = s.begin(t.Name)
		}
		q.setBase(t)
		all[t.Name] = q
	}
	s.all.Store(&all)
	for tag, q := range old {
		if all[tag] == nil {
			s.forget(tag, q)
		}
	}
	return nil
}

// begin returns the sequence of a new tag, above what it has had if it is one that was deleted.
func (s *Set) begin(tag string) *Sequence {
	q := newSequence(s.store, tag, s.cfg.of(tag))
	q.backs = &s.backs
	q.top, q.known = s.ends[tag] //mutant:retag
	delete(s.ends, tag)
	return q
}

// forget ends the sequence of a tag that was deleted.
func (s *Set) forget(tag string, q *Sequence) {
	q.end(fmt.Errorf("%w: %q was deleted", ErrUnknownTag, tag))
	q.cut()
	s.running.Go(q.running.Wait)
	q.mu.Lock()
	top, known := q.top, q.known
	q.mu.Unlock()
	if !known {
		return
	}
	if len(s.ends) >= mostEnded {
		for other := range maps.Keys(s.ends) {
			delete(s.ends, other)
			break
		}
	}
	s.ends[tag] = top
}

// isGroup reports whether a name is that of a group of a tag.
func isGroup(name string, tags map[string]bool) bool {
	tag, _, ok := GroupOf(name)
	return ok && tags[tag]
}

// setBase notes the step and the bound that the store has for the tag.
func (s *Sequence) setBase(t Tag) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.figures
	f.most, f.next = t.Most, t.Next
	if t.Step >= 1 && t.Step <= MaxStep {
		f.base, f.based = t.Step, time.Now()
	}
}
