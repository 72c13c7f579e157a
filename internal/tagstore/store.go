// Package tagstore has the operations of package segment for stores that keep a record of each tag
// and replace it atomically.
package tagstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/unalike-id/unalike/internal/tagcheck"
	"github.com/unalike-id/unalike/segment"
)

// Record is what a store keeps of a tag.
type Record struct {
	Next        int64  `json:"next"`
	Step        int64  `json:"step"`
	Description string `json:"description,omitempty"`
	Updated     int64  `json:"updated,omitempty"` // seconds since 1970
}

// Shared is what a store keeps for all tags.
type Shared struct {
	// Skipped is the sum of the numbers that were added to every tag.
	Skipped   int64 `json:"skipped,omitempty"`
	SkippedAt int64 `json:"skipped_at,omitempty"` // the last time, in seconds since 1970
	// Pruned has the day before which groups were removed, by tag.
	Pruned map[string]time.Time `json:"pruned,omitempty"`
}

// Add adds a number to the sum.
func (s *Shared) Add(by int64) {
	if by > 0 {
		s.Skipped += min(by, math.MaxInt64-s.Skipped)
		s.SkippedAt = time.Now().Unix()
	}
}

// Prune notes that the groups of a tag before a day are removed.
func (s *Shared) Prune(tag string, before time.Time) error {
	if last := s.Pruned[tag]; before.Before(last) {
		return fmt.Errorf("%w: tag %q: its groups before %s are pruned already; name a later day",
			segment.ErrInvalidConfig, tag, last.Format(time.DateOnly))
	}
	s.Pruned = maps.Clone(s.Pruned)
	if s.Pruned == nil {
		s.Pruned = map[string]time.Time{}
	}
	s.Pruned[tag] = before
	return nil
}

// CheckPruned returns an error if a tag is a group that was removed.
func (s *Shared) CheckPruned(name string) error {
	tag, _, _ := segment.GroupOf(name)
	return tagcheck.Pruned(name, s.Pruned[tag])
}

// Raise adds a number to the next one, which is the largest of all then if the sum is above that.
func (r *Record) Raise(by int64) {
	if r.Next >= 0 { // otherwise it is damaged
		r.Next += min(by, math.MaxInt64-r.Next)
	}
}

// damage returns an error unless ranges can be taken of a tag, with the taker's step unless that is
// 0.
func (r *Record) damage(tag, where string, step int64) error {
	return cmp.Or(tagcheck.Next(tag, "next in "+where, r.Next, math.MaxInt64),
		tagcheck.Stored(tag, "step in "+where, cmp.Or(step, r.Step)))
}

// Tag returns the record, which is kept at a place, as a tag.
func (r *Record) Tag(name, where string) segment.Tag {
	return segment.Tag{
		Name: name, Next: r.Next, Step: r.Step, Description: r.Description,
		Updated: time.Unix(r.Updated, 0), Damage: r.damage(name, where, 0),
	}
}

// Change is a change of a record. It returns how many numbers from Next on it takes.
type Change func(r *Record, there bool, all Shared) (take int64, err error)

// Call says which record is changed.
type Call struct {
	Tag string
	// Create has the record made if there is none.
	Create bool
	// Accept is set if an operator says that the tag is as it should be: it is changed although other
	// calls are refused, see [segment.ErrStoreChanged].
	Accept bool
}

// Store implements segment.Creator, and a part of segment.Store.
type Store struct {
	change func(ctx context.Context, c Call, f Change) (segment.Range, error)
	list   func(ctx context.Context, tag string) ([]segment.Tag, error)
	where  func(tag string) string
}

// New returns the operations of a store. Change stores a record as a [Change] has left it, and
// returns the range that was taken. List returns one tag, or all in the order of their names if no
// tag is named. Where names the place of a record.
func New(
	change func(ctx context.Context, c Call, f Change) (segment.Range, error),
	list func(ctx context.Context, tag string) ([]segment.Tag, error), where func(tag string) string,
) Store {
	return Store{change, list, where}
}

// Take implements [segment.Store].
func (s Store) Take(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Step(step, 0)); err != nil {
		return segment.Range{}, err
	}
	return s.change(ctx, Call{Tag: tag}, func(r *Record, _ bool, _ Shared) (int64, error) {
		if err := r.damage(tag, s.where(tag), step); err != nil {
			return 0, err
		}
		take := min(cmp.Or(step, r.Step), math.MaxInt64-r.Next)
		if take == 0 {
			return 0, fmt.Errorf("%w: tag %q", segment.ErrExhausted, tag)
		}
		r.Next += take
		r.Updated = time.Now().Unix()
		return take, nil
	})
}

// Advance implements [segment.Store].
func (s Store) Advance(ctx context.Context, tag string, to int64) error {
	if err := cmp.Or(segment.CheckTag(tag), CheckNumber("next number", to)); err != nil {
		return err
	}
	_, err := s.change(ctx, Call{Tag: tag, Accept: true}, func(r *Record, _ bool, _ Shared) (int64,
		error,
	) {
		if to < r.Next {
			return 0, fmt.Errorf("%w: tag %q is at %d already, and %d is lower; numbers go up only",
				segment.ErrInvalidConfig, tag, r.Next, to)
		}
		r.Next = to
		return 0, nil
	})
	return err
}

// SetStep implements [segment.Creator].
func (s Store) SetStep(ctx context.Context, tag string, step int64) error {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Step(step, 1)); err != nil {
		return err
	}
	_, err := s.change(ctx, Call{Tag: tag}, func(r *Record, _ bool, _ Shared) (int64, error) {
		r.Step = step
		return 0, nil
	})
	return err
}

// Create implements [segment.Creator].
func (s Store) Create(ctx context.Context, made segment.Tag) error {
	if err := cmp.Or(segment.CheckTag(made.Name), tagcheck.Step(made.Step, 1),
		CheckNumber("first number", made.Next)); err != nil {
		return err
	}
	operator := made.Since.IsZero()
	c := Call{Tag: made.Name, Create: true, Accept: operator}
	_, err := s.change(ctx, c, func(r *Record, there bool, all Shared) (int64, error) {
		if there {
			return 0, fmt.Errorf("%w: %q", segment.ErrTagExists, made.Name)
		}
		if err := all.CheckPruned(made.Name); err != nil {
			return 0, err
		}
		*r = Record{made.Next, made.Step, made.Description, time.Now().Unix()}
		if !operator && all.SkippedAt >= made.Since.Unix() { //mutant:segment-since
			r.Raise(all.Skipped)
		}
		return 0, nil
	})
	return err
}

// CheckNumber returns an error if a number is below 0.
func CheckNumber(what string, n int64) error {
	if n < 0 {
		return fmt.Errorf("%w: the %s is %d; numbers from 0 on are allowed", segment.ErrInvalidConfig,
			what, n)
	}
	return nil
}

// Tags implements [segment.Store].
func (s Store) Tags(ctx context.Context) ([]segment.Tag, error) { return s.list(ctx, "") }

// Tag implements [segment.Store].
func (s Store) Tag(ctx context.Context, tag string) (segment.Tag, error) {
	if err := segment.CheckTag(tag); err != nil {
		return segment.Tag{}, err
	}
	all, err := s.list(ctx, tag)
	if err != nil {
		return segment.Tag{}, err
	}
	if len(all) == 0 {
		return segment.Tag{}, Unknown(tag)
	}
	return all[0], nil
}

// Unknown is the error of a tag that is not there.
func Unknown(tag string) error { return fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag) }
