package protocol

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Leases may outlive a restart of the back end, and come back with an old copy of its data. A
// process that remembers nothing cannot notice that, but holders who live do when they renew.
// A lease that stands although it was not renewed for its TTL shows either. Nothing is granted
// then before each of these holders has shown a sign of life or is gone, for at most one TTL.

// life is the last sign of life of a holder.
type life struct {
	mark string // changes with each
	when Span   // by the holder's clock, and until when the next is due
}

// silence is that holders have shown no sign of life in time.
type silence struct {
	first map[int]life // what was known of the holders when it began, by worker ID
	ends  time.Time    // when their leases have ended
}

// listen says whether there are holders of whom nothing was heard in their time, by a clock, nor
// since silence began. If the clock agrees with none of them, differs is the error of one.
func listen(first, now map[int]life, clock Span, bound time.Duration) (silent bool, differs *coord.ClockSkewError) {
	agree := false
	for _, id := range slices.Sorted(maps.Keys(now)) {
		err := CheckClock(clock, now[id].when, bound)
		if err == nil {
			agree = true
			continue
		}
		if was, there := first[id]; there && was.mark == now[id].mark && clock.Low > now[id].when.High {
			silent = true //mutant:silent-holders
		}
		differs, _ = err.(*coord.ClockSkewError) //nolint:errorlint // it is made by CheckClock
	}
	if agree {
		differs = nil
	}
	return silent, differs
}

// sampled is how many holders are asked where a survey does not tell when they have renewed.
const sampled = 8

// lateness is by how much a back end may end leases too late.
const lateness = 5 * time.Second

// overdue is when leases end that should have: any moment.
const overdue = time.Second

// lives returns what is known of the holders of a survey.
func (c *Coordinator) lives(ctx context.Context, s Session, sv *Survey) map[int]life {
	all := map[int]life{}
	var ask []Holder
	for i, h := range sv.Holders {
		if h.Mark == nil {
			if i*sampled/len(sv.Holders) >= len(ask) {
				ask = append(ask, h)
			}
			continue
		}
		if m, err := h.Mark(); err == nil {
			all[h.Worker] = life{fmt.Sprint(h.Changed), Span{m.Renewed, m.Renewed + m.Lease().Microseconds()}}
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

// awaitLife returns an error while holders show no sign of life. Where the back end has no clock,
// it is a [*coord.ClockSkewError] if the clock of the acquisition, which was in a span while a
// survey was made, agrees with none of several holders.
func (c *Coordinator) awaitLife(ctx context.Context, s Session, sv *Survey, clock Span) error {
	if !c.set.Outlives || c.set.OneMachine { // which is away whenever no program runs
		return nil
	}
	compare := sv.Server == 0
	if !compare {
		clock = Span{sv.Server, sv.Server + sv.Unit}
	}
	now := c.lives(ctx, s, sv)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silence == nil {
		longest := int64(0)
		for _, l := range now {
			longest = max(longest, l.when.High-l.when.Low)
		}
		c.silence = &silence{first: map[int]life{}, ends: Time(clock.High + longest)}
	}
	for id, l := range now { // of those, too, of whom another survey has not told
		if _, there := c.silence.first[id]; !there { //mutant:other-share
			c.silence.first[id] = l
		}
	}
	ends := c.silence.ends
	silent, differs := listen(c.silence.first, now, clock, c.set.SkewBound)
	switch now := Time(clock.Low); {
	case !silent || now.After(ends.Add(lateness)):
		silent, c.silence, ends = false, nil, time.Time{}
	case now.After(ends):
		ends = now.Add(overdue)
	}
	switch {
	case compare && differs != nil && len(now) > 1:
		differs.Source, differs.Until = "the holders", ends
		return differs
	case silent:
		return &coord.QuarantinedError{Namespace: c.set.Namespace, Until: ends, Reason: unheard}
	}
	return nil
}

// unheard is why nothing is granted while holders show no sign of life.
const unheard = "holders have not renewed within their TTL and their leases stand, so that the back end was away, or an old copy of its data was put back; as soon as they renew, the wait is over"
