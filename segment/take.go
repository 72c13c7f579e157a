package segment

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// wait is how long a call waits.
type wait struct {
	limit time.Duration // below 0: not at all; 0: until the context ends
	timer *time.Timer
}

// late returns what is sent to when the limit has passed; nil: never.
func (w *wait) late() <-chan time.Time {
	if w.limit == 0 {
		return nil
	}
	if w.timer == nil {
		w.timer = time.NewTimer(w.limit)
	}
	return w.timer.C
}

func (w *wait) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// take returns the first of a run of at most k numbers, and how many there are, at least one.
func (s *Sequence) take(ctx context.Context, limit time.Duration, k int64) (first, n int64, err error) {
	w := wait{limit: limit}
	defer w.end()
	for {
		p := s.cur.Load()
		if first, n = s.claim(p, k); n > 0 {
			return first, n, nil
		}
		if err := s.turn(ctx, p, &w); err != nil {
			return 0, 0, err
		}
	}
}

// claim takes at most k numbers of a segment with one add; none if it is spent. It looks first, so that
// large runs do not drive the offset of a spent segment up.
func (s *Sequence) claim(p *span, k int64) (first, n int64) {
	if p.used.Load() >= p.size {
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

// turn is called by who has found p spent. It returns nil when it is worth another try, because there
// is another segment, and else waits for one.
func (s *Sequence) turn(ctx context.Context, p *span, w *wait) error {
	s.mu.Lock()
	switch {
	case s.cur.Load() != p:
		s.mu.Unlock()
		return nil
	case s.ended != nil:
		defer s.mu.Unlock()
		return s.ended
	case s.next != nil:
		s.promote()
		s.mu.Unlock()
		return nil
	}
	s.refill()
	failure, changed := s.failure, s.changed
	s.mu.Unlock()
	switch {
	case failure != nil && refused(failure):
		return failure
	case w.limit < 0:
		return s.unavailable(failure, errors.New("a refill is under way"))
	}
	select {
	case <-changed:
		return nil
	case <-w.late():
		return s.unavailable(failure, fmt.Errorf("no answer within %v", w.limit))
	case <-ctx.Done():
		return s.unavailable(failure, context.Cause(ctx))
	}
}

// unavailable says why there is no number: what the last attempt has met, and what has ended the wait.
func (s *Sequence) unavailable(failure, ended error) error {
	if failure == nil {
		return fmt.Errorf("%w: tag %q: %w", ErrUnavailable, s.tag, ended)
	}
	return fmt.Errorf("%w (%w)", failure, ended)
}

// promote makes the next segment the present one, which is spent. The lock is held.
func (s *Sequence) promote() {
	spent, now := s.cur.Load(), time.Now()
	if spent.size > 0 {
		s.figures.measure(spent.size, now)
		s.figures.before += uint64(spent.size)
	}
	s.figures.turn(spent.size, now)
	p := s.next
	p.mark = markAt(p.size, s.figures.rate, s.cfg.Hold, s.figures.took)
	s.next = nil
	s.cur.Store(p)
}
