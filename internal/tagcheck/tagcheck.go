// Package tagcheck has the checks that stores of segments share: of arguments, and of the numbers
// that they have stored.
package tagcheck

import (
	"fmt"
	"math"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// Step returns an error that wraps [segment.ErrInvalidConfig] unless step is from least to
// [segment.MaxStep].
func Step(step, least int64) error {
	if step < least || step > segment.MaxStep {
		return fmt.Errorf("%w: step is %d; a whole number from %d to %d is allowed",
			segment.ErrInvalidConfig, step, least, int64(segment.MaxStep))
	}
	return nil
}

// Next returns an error that wraps [segment.ErrDamaged] unless the next number of a tag, as a
// store has it at a place, is from 0 to most.
func Next(tag, where string, next, most int64) error {
	if next < 0 || next > most {
		return fmt.Errorf("%w: tag %q: its next number, %s, is %d; a whole number from 0 to %d is "+
			"allowed; raise the tag above every number in use with Advance, or with 'unalike segments "+
			"advance'", segment.ErrDamaged, tag, where, next, most)
	}
	return nil
}

// Stored returns an error that wraps [segment.ErrDamaged] unless the step of a tag, as a store
// has it at a place, is from 1 to [segment.MaxStep].
func Stored(tag, where string, step int64) error {
	if step < 1 || step > segment.MaxStep {
		return fmt.Errorf("%w: tag %q: its step, %s, is %d; set one from 1 to %d", segment.ErrDamaged,
			tag, where, step, int64(segment.MaxStep))
	}
	return nil
}

// Unused returns an error that wraps [segment.ErrInvalidConfig] unless a range that is given back
// has numbers that a store may hand out. The largest number of all is never handed out, because
// the next one has to be stored.
func Unused(r segment.Range) error {
	if r.First < 0 || r.First > r.Last || r.Last == math.MaxInt64 {
		return fmt.Errorf("%w: the range from %d to %d cannot have been handed out",
			segment.ErrInvalidConfig, r.First, r.Last)
	}
	return nil
}

// Skip returns an error that wraps [segment.ErrInvalidConfig] unless a store can add skip to every
// tag when the server has changed; 0: it adds nothing.
func Skip(skip int64) error {
	if skip < 0 || skip > segment.MaxStep {
		return fmt.Errorf("%w: Skip is %d; 0 or a number up to %d is allowed", segment.ErrInvalidConfig,
			skip, int64(segment.MaxStep))
	}
	return nil
}

// IsPast reports whether a name is that of a group of a tag, and the group was over before a day.
func IsPast(name, tag string, before time.Time) bool {
	of, over, ok := segment.GroupOf(name)
	return ok && of == tag && !over.After(before)
}

// Pruned returns an error that wraps [segment.ErrPruned] if a name is that of a group that was over
// before a day. The store has recorded that the groups of the tag before that day were removed.
func Pruned(name string, before time.Time) error {
	if tag, _, _ := segment.GroupOf(name); IsPast(name, tag, before) {
		return fmt.Errorf("%w: %q: the groups of its tag before %s were removed", segment.ErrPruned, name,
			before.Format(time.DateOnly))
	}
	return nil
}
