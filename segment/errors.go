package segment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
)

// Errors of this package and of its stores, which wrap them together with the client's own
// error: test with errors.Is.
var (
	// ErrUnknownTag says that the store has no such tag.
	ErrUnknownTag = errors.New("segment: unknown tag")
	// ErrTagExists says that a tag that was to be made is there already.
	ErrTagExists = errors.New("segment: the tag exists")
	// ErrWentBack says that the store handed out a range that does not begin above what was
	// handed out before, as after restoring a dump. The error is a [*WentBackError].
	ErrWentBack = errors.New("segment: the store went back")
	// ErrStoreChanged says that the store is another server than before, which may lack ranges
	// that were handed out. The error is a [*StoreChangedError].
	ErrStoreChanged = errors.New("segment: the store is another server than before")
	// ErrExhausted says that the last number of a tag was given out.
	ErrExhausted = errors.New("segment: the numbers of the tag are used up")
	// ErrDamaged is returned for a tag whose row or key is unusable, or whose changes the store does
	// not store as they are written. An operator must repair it.
	ErrDamaged = errors.New("segment: what is stored is damaged")
	// ErrPruned is returned for a number of a group that an operator has removed from the store.
	ErrPruned = errors.New("segment: the group was pruned")
	// ErrNotBegun is returned for a number of a group that has not begun.
	ErrNotBegun = errors.New("segment: the group of that day has not begun")
	// ErrNoGroups is returned for a number of a day if the numbers of the tag have no groups.
	ErrNoGroups = errors.New("segment: the numbers of the tag are not grouped by date")
	// ErrUnavailable says that everything in memory is used up, and the store could not be reached or
	// gives numbers more slowly than they are used. It wraps the cause.
	ErrUnavailable = errors.New("segment: no number is left")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("segment: closed")
	// ErrInvalidConfig says that a configuration, a URL, a tag or an argument is wrong and that
	// trying again cannot help. It wraps [coord.ErrInvalid].
	ErrInvalidConfig = drivers.Sentinel("segment: invalid", coord.ErrInvalid)
)

// WentBackError is an [ErrWentBack] with both numbers.
type WentBackError struct {
	Tag   string
	Got   Range // what the store handed out
	Above int64 // what it has to begin above
}

// Error prints both numbers and what to do.
func (e *WentBackError) Error() string {
	return fmt.Sprintf("%v: tag %q: it handed out %d to %d, and numbers up to %d are in use already; "+
		"if a dump was restored or the row was changed by hand, "+
		"find the highest number in use and raise the tag above it with Advance, or with 'unalike "+
		"segments advance'", ErrWentBack, e.Tag, e.Got.First, e.Got.Last, e.Above)
}

// Unwrap returns [ErrWentBack].
func (e *WentBackError) Unwrap() error { return ErrWentBack }

// StoreChangedError is an [ErrStoreChanged] with both identities.
type StoreChangedError struct {
	Tag       string
	Was, Here string // identities of servers
}

// Error prints both identities and what to do.
func (e *StoreChangedError) Error() string {
	return fmt.Sprintf("%v: tag %q: it was %q and is %q; after a failover, or when a dump was "+
		"restored, ranges that were handed out last may be missing here: raise all tags above the "+
		"highest numbers in use with AdvanceAll, or with 'unalike segments advance --all'; "+
		"failover=skip:N does so after a failover", ErrStoreChanged, e.Tag, e.Was, e.Here)
}

// Unwrap returns [ErrStoreChanged].
func (e *StoreChangedError) Unwrap() error { return ErrStoreChanged }

// refusals are the errors with which a store says that it is there and will not.
var refusals = []error{
	ErrUnknownTag, ErrWentBack, ErrStoreChanged, ErrExhausted, ErrClosed,
	ErrInvalidConfig, ErrDamaged, ErrPruned,
}

// refused reports whether a store has refused. Otherwise it could not be reached.
func refused(err error) bool {
	return slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) })
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalidConfig, fmt.Errorf(format, args...))
}
