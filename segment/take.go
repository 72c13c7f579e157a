package segment

import (
	"container/list"
	"context"
	"fmt"
	"time"
)

// take returns the first of a run of at most k numbers, and how many there are, at least one. It
// waits until ctx ends.
func (s *Sequence) take(ctx context.Context, k int64) (first, n int64, err error) {
	for n == 0 && err == nil {
		if first, n = s.claim(s.cur.Load(), k); n == 0 {
			first, n, err = s.turn(ctx, k)
		}
	}
	return first, n, err
}

// claim takes at most k numbers of a segment with one add; none if it is spent. It looks first, so
// that large runs do not drive the offset of a spent segment up.
func (s *Sequence) claim(p *span, k int64) (first, n int64) {
	if p.left() == 0 {
		return 0, 0
	}
	to := p.used.Add(k)
	from := to - k
	if from >= p.size {
		return 0, 0
	}
	to = min(to, p.size)
	if from < p.mark && p.mark <= to {
		s.need()
	}
	return p.first + from, to - from
}

// waiter is a call that waits for at most k numbers; with 0, for a segment that has some left.
type waiter struct {
	k   int64
	got chan got
}

// got is what a call got.
type got struct {
	first, n int64
	err      error
}

// turn is called by who has found no number. It waits in line for the next segment; no number and
// no error mean that there is one already.
func (s *Sequence) turn(ctx context.Context, k int64) (first, n int64, err error) {
	var place *list.Element
	s.mu.Lock()
	if s.ended == nil && s.next != nil && s.cur.Load().left() == 0 {
		s.promote()
	}
	refills, there := s.figures.refills, s.cur.Load().left() > 0
	if !there && (!s.cfg.OnDemand || ctx.Err() == nil) {
		s.refill()
	}
	switch {
	case s.ended != nil:
		err = s.ended
	case there:
	case refused(s.failure):
		err = s.failure
	default:
		place = s.line.PushBack(&waiter{k, make(chan got, 1)})
	}
	s.mu.Unlock()
	if place == nil {
		return 0, 0, err
	}
	return s.wait(ctx, place, refills)
}

// wait waits in line.
func (s *Sequence) wait(ctx context.Context, place *list.Element,
	refills uint64,
) (first, n int64, err error) {
	w := place.Value.(*waiter)
	select {
	case g := <-w.got:
		return g.first, g.n, g.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.line.Remove(place)
	failure, step, came := s.failure, s.cur.Load().size, s.figures.refills-refills
	s.mu.Unlock()
	select {
	case g := <-w.got: // it has come meanwhile
		return g.first, g.n, g.err
	default:
	}
	switch {
	case failure == nil && came > 0:
		failure = fmt.Errorf("%w: tag %q: numbers are used up faster than the store gives them: %d "+
			"segments came in that time, of %d numbers; raise MaxStep, or the step of the tag",
			ErrUnavailable, s.tag, came, step)
	case failure == nil:
		failure = fmt.Errorf("%w: tag %q", ErrUnavailable, s.tag)
	}
	return 0, 0, fmt.Errorf("%w (%w)", failure, context.Cause(ctx))
}

// serve gives the numbers of a segment to those who wait, in their order, and returns how many. The
// lock is held.
func (s *Sequence) serve(p *span) (served int64) {
	for s.line.Len() > 0 && served < p.size {
		w := s.line.Remove(s.line.Front()).(*waiter)
		n := min(w.k, p.size-served)
		w.got <- got{p.first + served, n, nil}
		served += n
	}
	return served
}

// dismiss fails all who wait. The lock is held.
func (s *Sequence) dismiss(err error) {
	for s.line.Len() > 0 {
		s.line.Remove(s.line.Front()).(*waiter).got <- got{err: err}
	}
}

// promote makes the next segment the present one, which is spent. The lock is held.
func (s *Sequence) promote() {
	spent, p, now := s.cur.Load(), s.next, time.Now()
	if spent.size > 0 {
		s.figures.measure(spent.size, now)
		s.figures.before += uint64(spent.size)
	}
	s.figures.turn(spent.size, now)
	p.mark = p.size + 1  // none
	if !s.cfg.OnDemand { //mutant:segment-on-demand
		p.mark = markAt(p.size, s.figures.rate, s.cfg.Hold, s.figures.took)
	}
	served := s.serve(p)
	p.used.Store(served)
	s.next, s.idle = nil, s.cfg.OnDemand
	s.cur.Store(p)
	s.age(p)
	if served >= p.mark || s.line.Len() > 0 {
		s.refill()
	}
}
