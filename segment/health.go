package segment

import (
	"cmp"
	"time"
)

// Health is a snapshot of a sequence, for probes, metrics and logs.
type Health struct {
	Tag string
	// Healthy tells whether a number can be had without the store.
	Healthy bool
	// Err is why Next fails, or would: nil if Healthy.
	Err error
	// Failing is why refills fail at the moment; nil if they do not.
	Failing error
	// Present is the segment in use, and Next the one to be used then; empty ranges begin above their
	// ends.
	Present, Next Range
	// Left is how many numbers are in memory.
	Left int64
	// Most is the largest number that the tag can have, and Unused how many there are up to it that
	// this process does not know to be taken. Most is 0 if it is not known.
	Most, Unused int64
	// Step is how many numbers were asked for last.
	Step int64
	// Rate is how many numbers a second are used, as measured at the last refill; 0: not known.
	Rate float64
	// TimeLeft is how long what is left lasts at that rate; 0: not known, or nothing is left.
	TimeLeft time.Duration
	// Issued is how many numbers were issued.
	Issued uint64
	// Refills and Failures count the attempts to refill that succeeded and that failed.
	Refills, Failures uint64
	// LastRefill is when the last one succeeded, and RefillTook how long it took.
	LastRefill time.Time
	RefillTook time.Duration
	// Warnings are standing remarks of the store on what it cannot protect from, as its server is
	// configured.
	Warnings []string
}

// Health returns a snapshot. It takes a short lock, and never calls the store.
func (s *Sequence) Health() Health {
	h := Health{Tag: s.tag}
	if w, ok := s.store.(Warner); ok {
		h.Warnings = w.Warnings()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, p := &s.figures, s.cur.Load()
	h.Present, h.Next = Range{p.first, p.last()}, none
	h.Step, h.Rate = f.step, f.rate
	h.Refills, h.Failures, h.LastRefill, h.RefillTook = f.refills, f.failures, f.refilled, f.took
	if s.ended != nil {
		h.Err, h.Issued = s.ended, f.before
		return h
	}
	spent := p.spent()
	h.Left, h.Issued, h.Failing = p.size-spent, f.before+uint64(spent), s.failure
	if s.next != nil {
		h.Next = Range{s.next.first, s.next.last()}
		h.Left += s.next.size
	}
	if h.Most = f.most; h.Most > 0 {
		h.Unused = max(0, h.Most-max(s.top, f.next-1)+h.Left)
	}
	h.TimeLeft = durationOf(h.Left, f.rate)
	if h.Healthy = h.Left > 0 || s.idle && s.failure == nil; !h.Healthy {
		h.Err = cmp.Or(s.failure, ErrUnavailable)
	}
	return h
}

// last returns the number before the next one that this sequence has, or expects.
func (s *Sequence) last() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.cur.Load()
	switch {
	case s.ended == nil && p.left() > 0:
		return p.first + p.spent() - 1
	case s.next != nil:
		return s.next.first - 1
	}
	return max(s.top, s.figures.next-1)
}

// supply reports whether there are numbers in memory, and why the last refill failed; nil: it did
// not.
func (s *Sequence) supply() (left bool, failure error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.cur.Load()
	return s.ended == nil && (s.next != nil || p.left() > 0), s.failure
}
