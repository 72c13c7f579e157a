package history

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// Rule allows what a correct coordinator does only if something has happened to it. Rules
// are combined with |.
type Rule uint

const (
	// LeasesLost allows coord.ErrLeaseLost at any time: because requests were repeated by
	// the network, and an Acquire with them, or because somebody who is not recorded has
	// changed the namespace.
	LeasesLost Rule = 1 << iota
	// StateLost allows what follows a loss of state in the back end: coord.ErrLeaseLost
	// at any time, generations that come again, and former holders that hold again,
	// as long as what they may stamp begins at the end or above, which the model still knows.
	StateLost
)

// slot is the state of a worker ID in the model. The zero slot was never granted.
type slot struct {
	held       bool
	token      string
	generation uint64 // of the holder, or the highest so far
	from       int64  // NotBefore of the holder's last window or piece that is known
	end        int64  // nobody was allowed to stamp above it
	retired    bool
}

// holds reports whether a grant is held.
func (s slot) holds(g *grant) bool {
	return s.held && s.token == g.Token && s.generation == g.Generation
}

// String describes the slot for a report.
func (s slot) String() string {
	text := fmt.Sprintf("free, last generation %d, end %d", s.generation, s.end)
	if s.held {
		text = fmt.Sprintf("held by %q, generation %d, NotBefore %d, end %d", s.token, s.generation, s.from, s.end)
	}
	if s.retired {
		text += ", retired"
	}
	return text
}

// step is a call as the model sees it.
type step struct {
	call
	file    string
	excused bool // an Acquire of unknown outcome may be the reason if it is refused
}

// model returns the model of one worker ID.
func model(rules Rule) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return slot{} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(slot).after(input.(step), rules)
			return ok, next
		},
	}
}

// after returns the slot after a call, and whether the call can have had its result.
func (s slot) after(c step, rules Rule) (slot, bool) {
	switch c.begin.Op {
	case opAcquire:
		return s.acquired(c.end.Grant, rules)
	case opRenew:
		if c.refused() {
			return s.refused(c, rules)
		}
		return s.renewed(c.begin.Grant, c.end.Grant, rules)
	case opResume:
		switch {
		case c.refused():
			return s.refused(c, rules)
		case c.succeeded() && s.holds(c.end.Grant): // it is repeated
			return s.renewed(c.end.Grant, c.end.Grant, rules)
		case c.succeeded():
			return s.renewed(c.begin.Grant, c.end.Grant, rules)
		case s.holds(c.begin.Grant):
			s.token, s.generation, s.end = c.begin.Token, s.generation+1, max(s.end, c.begin.Grant.NotAfter)
		}
		return s, true
	case opRelease:
		if c.succeeded() && !s.holds(c.begin.Grant) {
			return s, rules&StateLost != 0
		}
		return s.released(c.begin.Grant, c.begin.Last), true
	case opRetire:
		s.retired = true
		return s, true
	}
	return s, false
}

// acquired returns the slot after an Acquire that returned g.
func (s slot) acquired(g *grant, rules Rule) (slot, bool) {
	if s.holds(g) && g.NotBefore >= s.from { // the last stored piece, of which there may be none known
		s.from = g.NotBefore
		ok := g.NotAfter >= s.end
		s.end = max(s.end, g.NotAfter)
		return s, ok
	}
	lost := rules&StateLost != 0
	ok := g.NotBefore >= s.end && (lost || !s.retired && g.Generation > s.generation)
	return slot{held: true, token: g.Token, generation: g.Generation, from: g.NotBefore, end: g.NotAfter, retired: s.retired}, ok
}

// renewed returns the slot after a Renew or Resume of g that returned next.
func (s slot) renewed(g, next *grant, rules Rule) (slot, bool) {
	piece := next.NotBefore > g.NotAfter
	if !s.holds(g) {
		// A former holder, whose grant came back with an older state. What it had before it
		// knows, and has stopped at its end.
		return slot{held: true, token: next.Token, generation: next.Generation, from: next.NotBefore, end: next.NotAfter, retired: s.retired},
			rules&StateLost != 0 && piece && next.NotBefore >= s.end
	}
	ok := next.NotAfter >= s.end && (!s.retired || rules&StateLost != 0)
	s.token, s.generation, s.end = next.Token, next.Generation, next.NotAfter
	if piece {
		s.from = max(s.from, next.NotBefore)
	}
	return s, ok
}

// refused returns the slot after a Renew or Resume that returned coord.ErrLeaseLost.
func (s slot) refused(c step, rules Rule) (slot, bool) {
	if !s.holds(c.begin.Grant) {
		return s, true
	}
	s.held = false
	return s, c.excused || s.retired || rules != 0
}

// released returns the slot after a Release of g by a caller that has stamped nothing above
// last. It is g's own, or nothing changes.
func (s slot) released(g *grant, last int64) slot {
	if !s.holds(g) {
		return s
	}
	s.held = false
	s.end = min(max(s.end, g.NotAfter), max(last, s.from))
	return s
}
