package segment

import "context"

// Close ends the sequence: later calls return ErrClosed, and those that wait do so at once. It
// gives the unused rest of what the sequence holds back to the store, once, which works if nobody
// has taken a range since; else the rest is left out for good. Its error says that this is not
// known; the sequence is closed whatever it is. A second call returns what the first did. ctx
// bounds the call, and RefillTimeout each of its two steps, of which the first ends a refill.
func (s *Sequence) Close(ctx context.Context) error {
	s.closing.Do(func() {
		first := s.end(ErrClosed)
		s.settled(ctx)
		if first {
			s.mu.Lock()
			rest := s.rest()
			s.mu.Unlock()
			s.closed = s.putBack(ctx, rest)
		}
		s.cut()
		s.tell()
	})
	return s.closed
}

// end shuts the gate, and reports whether it was open. Callers whose add came before own their
// numbers.
func (s *Sequence) end(why error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return false
	}
	s.ended = why
	s.setBack(false)
	s.cur.Store(s.shut())
	if s.aging != nil {
		s.aging.Stop()
	}
	close(s.stop)
	s.dismiss(why)
	return true
}

// shut ends the present segment for callers who come now, and returns what nobody has used of it,
// which nobody can use. The lock is held, and somebody else has to be made the present one.
func (s *Sequence) shut() *span {
	p := s.cur.Load()
	used := min(p.used.Swap(gone), p.size) //mutant:segment-gate
	s.figures.before += uint64(used)
	rest := &span{first: p.first + used, size: p.size - used}
	rest.used.Store(gone)
	return rest
}

// settled waits until no refill is under way. One that is may get a range yet, which can be given
// back with the rest; if ctx ends first, it is cut off.
func (s *Sequence) settled(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.cut)
	defer stop()
	s.running.Wait() //mutant:segment-refill-close
}

// putBack gives a range back, once, whatever the outcome is: numbers of which the outcome is not
// known are left out.
func (s *Sequence) putBack(ctx context.Context, r Range) error {
	if r.Len() == 0 {
		return nil
	}
	ctx, cancel := s.cfg.bounded(ctx) //mutant:segment-close-bound
	defer cancel()
	_, err := s.store.GiveBack(ctx, s.tag, r) //mutant:back-again
	return err
}

// rest returns the numbers that can be given back of the present segment, which is shut, and the
// next one, which it removes: contiguous ranges in one step, and else the later one, as only that
// can be where the store's next range begins. The lock is held.
func (s *Sequence) rest() Range {
	p, next := s.cur.Load(), s.next
	s.next = nil
	rest := Range{p.first, p.last()}
	switch {
	case next != nil && p.size > 0 && next.first == rest.Last+1:
		rest.Last = next.last()
	case next != nil:
		rest = Range{next.first, next.last()}
	}
	return rest
}
