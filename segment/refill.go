package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

const (
	// The pauses between attempts that fail double from the first to the last. A store that comes
	// back is noticed within the last one.
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
	// refusedPause is the last one after a refusal: somebody has to do something.
	refusedPause = 2 * time.Second
	// lookPause is how much time passes, about, between two looks at the tags of a store that went
	// back, of which there may be thousands.
	lookPause = 50 * time.Millisecond
)

// need starts a refill unless one is under way or the next segment is there.
func (s *Sequence) need() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill()
}

// refill is need with the lock held. All who wait share it.
func (s *Sequence) refill() {
	if s.refilling || s.next != nil || s.ended != nil {
		return
	}
	s.refilling = true
	s.running.Add(1)
	go s.refilled()
}

// refilled tries until there is a next segment, or the sequence has ended.
func (s *Sequence) refilled() {
	defer s.running.Done()
	for attempt := 0; ; attempt++ {
		began := time.Now()
		r, err := s.fetch()
		took := time.Since(began)
		last, unwanted := s.finish(r, err, took)
		if unwanted.Len() > 0 {
			_ = s.putBack(s.life, unwanted) //mutant:segment-unwanted
			last, _ = s.finish(none, nil, took)
		}
		if last {
			return
		}
		pause := s.pause(attempt)
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-s.stop:
			timer.Stop()
			s.finish(none, ErrClosed, 0)
			return
		}
	}
}

// unwanted reports whether numbers are taken on demand, and every caller has given up. Then none is
// taken or kept: other processes may take and issue higher ones before the next call. The lock is
// held.
func (s *Sequence) unwanted() bool {
	return s.cfg.OnDemand && s.ended == nil && s.line.Len() == 0
}

// pause is how long it is until the attempt after one that has failed.
func (s *Sequence) pause(attempt int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	growing := firstPause << min(attempt, 10)
	switch {
	case s.back:
		return max(refusedPause, lookPause*time.Duration(s.backs.Load()))
	case refused(s.failure):
		return min(growing, refusedPause)
	}
	return min(growing, lastPause)
}

// none is a range without numbers.
var none = Range{0, -1}

// fetch takes a range from the store. If no caller wants one, it only finds out whether it could.
func (s *Sequence) fetch() (Range, error) {
	ctx, cancel := s.cfg.bounded(s.life)
	defer cancel()
	s.mu.Lock()
	unknown := s.figures.base == 0 && s.cfg.MaxStep == 0 // the first range has the tag's own step
	look := s.back || s.cfg.Step == 0 && !unknown && time.Since(s.figures.based) >= refreshEvery
	unwanted := s.unwanted() //mutant:segment-probe
	s.mu.Unlock()
	if look || unwanted {
		if err := s.look(ctx); err != nil || unwanted {
			return none, err
		}
	}
	s.mu.Lock()
	step := s.nextStep()
	s.mu.Unlock()
	r, err := s.store.Take(ctx, s.tag, step)
	switch {
	case err != nil:
		return r, s.failed(err)
	case r.Last < r.First || r.Last-r.First < 0 || r.Last-r.First >= MaxStep || step > 0 &&
		r.Len() > step:
		return r, damaged("tag %q: the store handed out %d to %d, and asked for were %d numbers; the "+
			"store is broken", s.tag, r.First, r.Last, step)
	}
	s.mu.Lock()
	top, known := s.top, s.known
	s.mu.Unlock()
	if known && r.First <= top { //mutant:segment-back
		// what is refused must not raise the store's next number
		_, _ = s.store.GiveBack(ctx, s.tag, r) //mutant:segment-put-back
		return r, &WentBackError{Tag: s.tag, Got: r, Above: top}
	}
	return r, nil
}

// look reads what the store has of the tag: its step, which somebody may have changed, and whether
// the next number is above top again. Taking a range to find that out would raise it, until it is
// above what this process has used and not above what others have.
func (s *Sequence) look(ctx context.Context) error {
	t, err := s.store.Tag(ctx, s.tag)
	if err == nil {
		err = t.Damage
	}
	if err != nil {
		return s.failed(err)
	}
	s.setBase(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back && t.Next <= s.top {
		return &WentBackError{Tag: s.tag, Got: Range{t.Next, t.Next}, Above: s.top}
	}
	return nil
}

// failed is the error of a call to the store.
func (s *Sequence) failed(err error) error {
	if refused(err) {
		return err
	}
	return fmt.Errorf("%w: tag %q: the store cannot be reached: %w", ErrUnavailable, s.tag, err)
}

// nextStep is how many numbers to ask for: the least if the outcome of the last attempt is not
// known, because each such attempt may have taken as many. The lock is held.
func (s *Sequence) nextStep() int64 {
	f := &s.figures
	least := cmp.Or(s.cfg.Step, f.base)
	if least == 0 {
		return 0 // the store says
	}
	most := cmp.Or(s.cfg.MaxStep, max(DefaultMaxStep, least))
	least = min(least, most)
	f.step = least
	p := s.cur.Load()
	if p.size == 0 {
		return f.step
	}
	f.measure(p.spent(), time.Now())
	if s.failure == nil || refused(s.failure) { //mutant:segment-unknown-step
		f.step = stepAfter(p.size, f.rate, s.cfg.Hold, least, most)
	}
	return f.step
}

// setBack notes whether the store went back. The lock is held.
func (s *Sequence) setBack(back bool) {
	switch {
	case back && !s.back:
		s.backs.Add(1)
	case s.back && !back:
		s.backs.Add(-1)
	}
	s.back = back
}

// finish notes the result of an attempt, and wakes those who wait. It reports whether that was the
// last one. If no caller wants the range any more, it only returns that: the caller must give it
// back, and call finish without a range.
func (s *Sequence) finish(r Range, err error, took time.Duration) (last bool, unwanted Range) {
	s.mu.Lock()
	if err == nil && r.Len() > 0 && s.unwanted() { //mutant:segment-finish
		s.mu.Unlock()
		return false, r
	}
	if back, ok := errors.AsType[*WentBackError](err); ok {
		s.top = max(s.top, back.Above) // a store may know more, from other sequences of the tag
	}
	s.setBack(err != nil && s.ended == nil && (s.back || errors.Is(err, ErrWentBack)))
	f := &s.figures
	// before the first one, New says it
	news := (err == nil) != (s.failure == nil) && s.ended == nil && f.refills > 0
	last = err == nil || s.ended != nil
	s.failure, s.refilling = err, !last
	switch {
	case err == nil:
		f.took, f.refilled = took, time.Now()
		f.refills++
		if r.Len() == 0 { // it was not wanted
			if s.line.Len() > 0 {
				s.refill()
			}
			break
		}
		s.next = &span{first: r.First, size: r.Len(), taken: time.Now()}
		s.top, s.known = r.Last, true
		if f.base == 0 {
			f.base, f.based = r.Len(), time.Now()
		}
		f.step = cmp.Or(f.step, r.Len())
		// Those who wait are served, and Health is to show what there is.
		if s.ended == nil && s.cur.Load().left() == 0 {
			s.promote()
		}
	case s.ended == nil:
		f.failures++
		if refused(err) {
			s.dismiss(err)
		}
	}
	if news && s.telling {
		s.untold, news = true, false
	}
	s.telling = s.telling || news
	s.mu.Unlock()
	if news {
		s.running.Go(s.announce) // the next attempt does not wait for who is told
	}
	return last, none
}

// announce says how the sequence is, and again if that has changed meanwhile.
func (s *Sequence) announce() {
	for again := true; again; {
		s.tell()
		s.mu.Lock()
		again, s.untold = s.untold, false
		s.telling = again
		s.mu.Unlock()
	}
}

// tell says how the sequence is. Calls come one after another: from announce, and from Close when
// that has ended.
func (s *Sequence) tell() {
	h := s.Health()
	switch {
	case h.Failing != nil:
		s.cfg.Logger.Warn("refills fail", "tag", s.tag, "left", h.Left, "time_left", h.TimeLeft, "error",
			h.Failing)
	case h.Err != nil:
		s.cfg.Logger.Info("the sequence has ended", "tag", s.tag, "error", h.Err)
	default:
		s.cfg.Logger.Info("refills succeed", "tag", s.tag, "left", h.Left)
	}
	if s.cfg.OnChange != nil {
		s.cfg.OnChange(h)
	}
}

// durationOf is how long some numbers last at a rate.
func durationOf(numbers int64, rate float64) time.Duration {
	seconds := float64(numbers) / rate
	if rate <= 0 || seconds > math.MaxInt64/float64(time.Second)/2 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}
