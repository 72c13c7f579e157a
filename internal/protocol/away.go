package protocol

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Leases may outlive a restart of the back end, and come back with an old copy of its data. A
// process that remembers nothing cannot notice that, but holders who live do when they renew.
// So if no holder has shown a sign of life within its TTL, nothing is granted before one has,
// or their leases have ended.

// life is the last sign of life of a holder.
type life struct {
	mark string // changes with each
	when Span   // by the holder's clock, and until when the next is due
}

// silence is that no holder has shown a sign of life.
type silence struct {
	first map[int]life // what was known of the holders, by worker ID
	ends  time.Time    // when their leases have ended
}

// heard is what the holders say.
type heard int

const (
	heardNobody heard = iota // nothing is granted
	heardInTime              // one has renewed within its TTL, by this clock
	heardSince               // one has renewed since, with a clock that differs
	heardEnd                 // those of before are gone
)

// listen compares what is known of the holders with what was when silence began, by a clock.
// The error is that of the last clock which differs.
func listen(first, now map[int]life, clock Span, bound time.Duration) (said heard, differs error) {
	asBefore := 0
	for id, l := range now {
		err := CheckClock(clock, l.when, bound)
		if err == nil {
			return heardInTime, nil
		}
		switch was, there := first[id]; {
		case !there:
		case was.mark == l.mark:
			asBefore++
		default:
			said, differs = heardSince, err
		}
	}
	if said == heardNobody && asBefore == 0 {
		said = heardEnd
	}
	return said, differs
}

// sampled is how many holders are asked where a survey does not tell when they have renewed.
const sampled = 32

// lives returns what is known of the holders of a survey.
func (c *Coordinator) lives(ctx context.Context, s Session, sv *Survey) map[int]life {
	all := map[int]life{}
	var ask []Holder
	n := min(len(sv.Holders), sampled)
	for i, h := range sv.Holders {
		switch {
		case h.Mark == nil && i*n/len(sv.Holders) == len(ask):
			ask = append(ask, h)
		case h.Mark != nil:
			if m, err := h.Mark(); err == nil {
				all[h.Worker] = life{fmt.Sprint(h.Changed), Span{m.Renewed, m.Renewed + m.Lease().Microseconds()}}
			}
		}
	}
	if len(ask) == 0 {
		return all
	}
	for _, l := range s.Leases(ctx, ask) {
		if !l.Retired {
			all[l.Worker] = life{l.Mark, Span{l.Renewed, l.Renewed + l.TTL.Microseconds()}}
		}
	}
	return all
}

// awaitLife returns an error while no holder shows a sign of life. The clock of an acquisition
// was in a span while a survey was made; if it differs from that of holders who live, the
// error is a [*coord.ClockSkewError].
func (c *Coordinator) awaitLife(ctx context.Context, s Session, sv *Survey, clock Span) error {
	if !c.set.Outlives {
		return nil
	}
	reference := clock
	if sv.Server != 0 {
		reference = Span{sv.Server, sv.Server + sv.Unit}
	}
	now := c.lives(ctx, s, sv)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silence == nil {
		c.silence = &silence{first: now, ends: Time(reference.High)}
		for _, l := range now {
			if ends := Time(reference.High + l.when.High - l.when.Low); ends.After(c.silence.ends) {
				c.silence.ends = ends
			}
		}
	}
	said, differs := listen(c.silence.first, now, reference, c.set.SkewBound)
	if said == heardNobody {
		return &coord.QuarantinedError{Namespace: c.set.Namespace, Until: c.silence.ends, Reason: silent}
	}
	c.silence = nil
	if said == heardSince && sv.Server == 0 && !c.set.OneMachine && len(now) > 1 {
		return fmt.Errorf("a holder has renewed by another clock: %w", differs)
	}
	return nil
}

// silent is why nothing is granted while no holder shows a sign of life.
const silent = "no holder has renewed within its TTL, so that the back end was away, or an old copy of its data was put back; the next renewal of a holder ends the wait"
