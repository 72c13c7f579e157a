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
		ctx, cancel := context.WithTimeout(s.life, s.cfg.RefillTimeout)
		r.err = s.reload(ctx)
		cancel()
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

// reload reads the list. New tags get a sequence, and those of deleted ones end.
func (s *Set) reload(ctx context.Context) error {
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
	old := *s.all.Load()
	all := make(map[string]*Sequence, len(tags))
	for _, t := range tags {
		if CheckTag(t.Name) != nil {
			continue // it is not ours
		}
		q := old[t.Name]
		if q == nil {
			q = s.begin(t.Name)
		}
		q.setBase(t.Step)
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
	q := newSequence(s.store, tag, s.cfg)
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

// setBase notes the step that the store has for the tag.
func (s *Sequence) setBase(step int64) {
	if step < 1 || step > MaxStep {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.base, s.figures.based = step, time.Now()
}
