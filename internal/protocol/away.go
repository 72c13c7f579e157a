package protocol

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Leases may outlive a restart of the back end, and come back with an old copy of its data. A
// process that remembers nothing cannot notice that, but holders who live do when they renew.
// A lease that stands although it was not renewed for its TTL shows either. Nothing is granted
// then before each of these holders has shown a sign of life or is gone, for at most one TTL.

// silence is what a process waits for, by worker ID: that a holder shows another sign of life
// than this one, or until its lease has ended.
type silence map[int]silent

type silent struct{ renewed, ends int64 }

// lateness is by how much a back end may end leases too late, and overdue when it does then.
const lateness, overdue = 5 * time.Second, time.Second

// listen returns when the leases end of holders of whom nothing was heard in their time, by a
// clock, nor since the silence began; 0: there are none. If the clock agrees with none of the
// holders, differs is the error of one. Now tells by a holder's clock when it has renewed last and
// until when it is due again.
func (q silence) listen(now map[int]Span, clock Span,
	bound time.Duration,
) (ends int64, differs *coord.ClockSkewError) {
	agree := false
	for _, id := range slices.Sorted(maps.Keys(now)) {
		when := now[id]
		if _, there := q[id]; !there { //mutant:other-share
			q[id] = silent{when.Low, clock.High + when.High - when.Low}
		}
		err := CheckClock(clock, when, bound)
		if err == nil {
			agree = true
			continue
		}
		if was := q[id]; was.renewed == when.Low && clock.Low > when.High && clock.Low <= was.ends+
			lateness.Microseconds() {
			ends = max(ends, was.ends, clock.Low+overdue.Microseconds()) //mutant:silent-holders
		}
		differs, _ = err.(*coord.ClockSkewError) //nolint:errorlint // it is made by CheckClock
	}
	if agree {
		differs = nil
	}
	return ends, differs
}

// marks are the last renewals, and until when the next ones are due, that owner marks tell. What
// cannot be read tells nothing.
func (sv *Survey) marks() map[int]Span {
	all := map[int]Span{}
	for _, h := range sv.Holders {
		if h.Mark == nil {
			continue
		}
		if m, err := h.Mark(); err == nil {
			all[h.Worker] = Span{m.Renewed, m.Renewed + m.Lease().Microseconds()}
		}
	}
	return all
}

// sampled is how many holders are heard where owner marks do not tell when they have renewed: some
// from everywhere among them, as those side by side may all be retired.
const sampled = 8

// lives are the last renewals of the holders of a survey.
func (c *Coordinator) lives(ctx context.Context, s Session, sv *Survey) map[int]Span {
	all := sv.marks()
	if !sv.timed() || len(sv.Holders) == 0 {
		return all
	}
	for n, asked := len(sv.Holders), 0; asked < n && len(all) < sampled; asked += sampled {
		var ask []Holder
		for i := range sampled {
			if at := i*n/sampled + asked/sampled; at < (i+1)*n/sampled {
				ask = append(ask, sv.Holders[at])
			}
		}
		for _, l := range s.Leases(ctx, ask) {
			if !l.Retired {
				all[l.Worker] = Span{l.Renewed, l.Renewed + l.TTL.Microseconds()}
			}
		}
	}
	return all
}

// awaitLife returns an error while holders show no sign of life. Where the back end has no clock,
// it is a [*coord.ClockSkewError] if the clock of the acquisition, which says now, agrees with none
// of several holders.
func (c *Coordinator) awaitLife(ctx context.Context, s Session, sv *Survey, now int64) error {
	if !c.set.Outlives || c.set.OneMachine { // which is away whenever no program runs
		return nil
	}
	clock, lives := sv.during(now), c.lives(ctx, s, sv)
	c.mu.Lock()
	defer c.mu.Unlock()
	ends, differs := c.silence.listen(lives, clock, c.set.SkewBound)
	if ends == 0 {
		clear(c.silence)
	}
	switch {
	case !sv.timed() && differs != nil && len(lives) > 1:
		differs.Source = "the holders"
		if ends != 0 {
			differs.Until = Time(ends)
		}
		return differs
	case ends != 0:
		return &coord.QuarantinedError{Namespace: c.set.Namespace, Until: Time(ends), Reason: unheard}
	}
	return nil
}

// unheard is why nothing is granted while holders show no sign of life.
const unheard = "holders have not renewed within their TTL and their leases stand, so that the " +
	"back end was away, or an old copy of its data was put back; as soon as they renew, the " +
	"wait is over"
