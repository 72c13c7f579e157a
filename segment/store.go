package segment

import (
	"context"
	"time"
	"unicode"
	"unicode/utf8"
)

// Range is the numbers from First to Last, both included. A Range with Last below First has none.
type Range struct{ First, Last int64 }

// Len is how many numbers a range has. Stores hand out at most [MaxStep] at a time.
func (r Range) Len() int64 { return r.Last - r.First + 1 }

// Tag is what a store knows of a tag.
type Tag struct {
	Name        string
	Next        int64 // the first number of the next range
	Step        int64 // the size of a range whose taker names none
	Description string
	Updated     time.Time // when a range was taken last; the zero time: not known
	// Most is the largest number that the store can hand out for the tag; 0: not known.
	Most int64
	// Since is read by [Creator.Create] alone: numbers of the tag can have been handed out from this
	// time on, because a program creates the tag when it does not find it. A store that has skipped
	// numbers in a failover since then begins the tag above them. Zero: an operator creates it.
	Since time.Time
	// Damage says what is wrong with what is stored of the tag, and what to do; nil: nothing. It wraps
	// [ErrDamaged]. The other fields are what could be read.
	Damage error
}

// Store is where the next number of each tag is kept. Its methods are for concurrent use, return
// soon after their contexts have ended, and wrap the errors of this package. Any other error means
// that the outcome is unknown: the range that a call may have taken is left unused.
type Store interface {
	// Take takes the next range of a tag, in one atomic step that is committed when Take returns.
	// A step of 0 is the one that the store has for the tag. The range is shorter if fewer numbers
	// are left, and the error is ErrExhausted if none is.
	Take(ctx context.Context, tag string, step int64) (Range, error)
	// GiveBack makes unused the next range of its tag again if it ends where the next one begins,
	// which is if nobody has taken a range since. It reports whether that was so. Callers call it
	// once for a range, whatever it returns, and stores send it at most once: a repetition can
	// arrive when somebody has taken that very range.
	GiveBack(ctx context.Context, tag string, unused Range) (bool, error)
	// Tag returns one tag; ErrUnknownTag: there is none.
	Tag(ctx context.Context, tag string) (Tag, error)
	// Tags lists all tags in the order of their names. One whose row or key is damaged is in the list,
	// and says so; the others can be used.
	Tags(ctx context.Context) ([]Tag, error)
	// Advance makes to the next number of a tag, if that is above what it is; a lower number is an
	// error. Who calls it also says that the tag is as it should be on this server, see
	// [ErrStoreChanged]; for that, to may be equal to the next number.
	Advance(ctx context.Context, tag string, to int64) error
	// Close frees what the store has made. Later calls return ErrClosed.
	Close() error
}

// Creator is a [Store] that can make tags.
type Creator interface {
	// Create makes a tag that begins at t.Next. The error is ErrTagExists if it is there, and
	// ErrPruned if it is a group that a [Pruner] has removed.
	Create(ctx context.Context, t Tag) error
	// SetStep sets the step of a tag.
	SetStep(ctx context.Context, tag string, step int64) error
}

// Advancer is a [Store] that can raise all tags at once.
type Advancer interface {
	// AdvanceAll adds a number to the next one of every tag, which is the last that there can be where
	// that is more. Damaged tags stay as they are. It says of all of them what Advance says of one.
	AdvanceAll(ctx context.Context, by int64) error
}

// Warner is a [Store] that has remarks on what it cannot protect from, as its server is configured.
type Warner interface{ Warnings() []string }

// Clock is a [Store] whose server has a clock.
type Clock interface {
	// Now returns the time of the server.
	Now(ctx context.Context) (time.Time, error)
}

// Pruner is a [Store] that can remove the groups of a tag.
type Pruner interface {
	// Prune removes the groups of a tag that were over before a day, see [GroupOf], and returns how
	// many that were. It records the day first: Create refuses those groups with ErrPruned from then
	// on. A later call may name a later day only.
	Prune(ctx context.Context, tag string, before time.Time) (removed int, err error)
}

const (
	// MaxTag is how many characters a tag may have, as in Leaf's table.
	MaxTag = 128
	// MaxStep is the largest step.
	MaxStep = 1 << 40
)

// CheckTag returns an error that wraps [ErrInvalidConfig] unless tag is 1 to 128 characters
// of printable UTF-8 without spaces at its ends.
func CheckTag(tag string) error {
	const allowed = "a tag is 1 to 128 characters of printable UTF-8 without spaces at its ends"
	switch {
	case tag == "":
		return invalid("the tag is empty; %s", allowed)
	case !utf8.ValidString(tag):
		return invalid("tag %.20q is not UTF-8; %s", tag, allowed)
	case utf8.RuneCountInString(tag) > MaxTag:
		return invalid("tag %.20q... has %d characters; %s", tag, utf8.RuneCountInString(tag), allowed)
	case tag[0] == ' ' || tag[len(tag)-1] == ' ':
		return invalid("tag %q has a space at an end; %s", tag, allowed)
	}
	for _, r := range tag {
		if !unicode.IsPrint(r) {
			return invalid("tag %q contains the unprintable character %U; %s", tag, r, allowed)
		}
	}
	return nil
}
