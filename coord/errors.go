package coord

import (
	"errors"
	"fmt"
	"time"
)

// Errors of coordinators. Drivers wrap them, together with the client's own
// error, so test with errors.Is.
var (
	// ErrNoWorkerID says that every worker ID of the share is held. The error is a
	// [*NoWorkerIDError] where the driver can tell more.
	ErrNoWorkerID = errors.New("coord: no free worker ID")
	// ErrLeaseLost says for certain that the worker ID is no longer the caller's.
	ErrLeaseLost = errors.New("coord: lease lost")
	// ErrQuarantined says that nothing is granted yet because the coordinator's
	// memory could not be trusted. The error is a [*QuarantinedError].
	ErrQuarantined = errors.New("coord: namespace quarantined")
	// ErrLayoutMismatch says that the namespace was made with another layout. The
	// error is a [*LayoutMismatchError].
	ErrLayoutMismatch = errors.New("coord: layout mismatch")
	// ErrClockSkew says that this machine's clock is too far from the
	// coordinator's. The error is a [*ClockSkewError].
	ErrClockSkew = errors.New("coord: clock skew")
	// ErrInvalid says that a configuration, a URL, a request or a stored state is
	// wrong and that trying again cannot help.
	ErrInvalid = errors.New("unalike: invalid")
	// ErrNamespaceClosed says that another namespace follows this one, see package
	// follow, so that nothing is granted or extended in it any more. It is an [ErrInvalid].
	ErrNamespaceClosed = invalid("the namespace is closed: its floor is the end of the " +
		"layout; another namespace follows it, use that one")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("coord: coordinator closed")
)

// Permanent reports whether err will not go away by trying again at once: the
// request or the configuration is wrong, or every worker ID is held. A clock skew
// that may be that of dead holders, see [ClockSkewError], is not permanent.
func Permanent(err error) bool {
	if skew, ok := errors.AsType[*ClockSkewError](err); ok && !skew.Until.IsZero() {
		return false
	}
	for _, e := range []error{ErrNoWorkerID, ErrLayoutMismatch, ErrClockSkew, ErrInvalid, ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// NoWorkerIDError is an [ErrNoWorkerID] with figures.
type NoWorkerIDError struct {
	Namespace string
	Capacity  int       // worker IDs in the share that was asked for
	InUse     int       // of those, held now
	Soonest   time.Time // when the next one becomes free unless it is renewed; zero: unknown
	// LastSeen is when the holder of that one has renewed last, by its own clock. The zero
	// time means that this says nothing: it is not known, or leases have begun anew with
	// the back end since, so that the holder may be dead.
	LastSeen time.Time
}

// Error says how many worker IDs there are and when the next may be free.
func (e *NoWorkerIDError) Error() string {
	s := fmt.Sprintf("%v in namespace %q: %d of %d are held", ErrNoWorkerID, e.Namespace, e.InUse,
		e.Capacity)
	if !e.Soonest.IsZero() {
		s += "; the next is free at " + e.Soonest.UTC().Format(time.RFC3339Nano) + " unless it is renewed"
	}
	return s + "; stop a holder, widen the share, or use a layout with more worker bits"
}

// Unwrap returns [ErrNoWorkerID].
func (e *NoWorkerIDError) Unwrap() error { return ErrNoWorkerID }

// QuarantinedError is an [ErrQuarantined] with its end.
type QuarantinedError struct {
	Namespace string
	Until     time.Time // when the floor is passed
	Reason    string    // what else is known of why; empty: nothing
}

// Error says until when nothing is granted.
func (e *QuarantinedError) Error() string {
	text := fmt.Sprintf("%v: nothing is granted in namespace %q before %s; service resumes by itself",
		ErrQuarantined, e.Namespace, e.Until.UTC().Format(time.RFC3339Nano))
	if e.Reason != "" {
		text += "; " + e.Reason
	}
	return text
}

// Unwrap returns [ErrQuarantined].
func (e *QuarantinedError) Unwrap() error { return ErrQuarantined }

// LayoutMismatchError is an [ErrLayoutMismatch] with both fingerprints.
type LayoutMismatchError struct {
	Namespace      string
	Stored, Wanted string // fingerprints, as core.Layout.String prints them
}

// Error prints both layouts.
func (e *LayoutMismatchError) Error() string {
	return fmt.Sprintf("%v: namespace %q has layout %s, this generator has %s; use the stored layout "+
		"or another namespace", ErrLayoutMismatch, e.Namespace, e.Stored, e.Wanted)
}

// Unwrap returns [ErrLayoutMismatch].
func (e *LayoutMismatchError) Unwrap() error { return ErrLayoutMismatch }

// ClockSkewError is an [ErrClockSkew] with both readings.
type ClockSkewError struct {
	Local, Reference time.Time
	// Source says whose clock Reference is, if it is not the coordinator's.
	Source string
	Max    time.Duration
	// Until is not zero if the reference is that of holders who may be dead, because
	// none of them was seen to renew: their leases end by then. Until then it is too
	// early to tell who is wrong, and trying again is right.
	Until time.Time
}

// Error prints both clocks and the bound.
func (e *ClockSkewError) Error() string {
	if !e.Until.IsZero() {
		return fmt.Sprintf("%v: this machine says %s, the last renewals of the holders are of %s; at "+
			"most %v apart is allowed; the holders may be dead, then their leases end by %s and service "+
			"begins by itself; otherwise set the clock",
			ErrClockSkew, e.Local.UTC().Format(time.RFC3339Nano), e.Reference.UTC().Format(time.RFC3339Nano),
			e.Max, e.Until.UTC().Format(time.RFC3339Nano))
	}
	source := e.Source
	if source == "" {
		source = "the coordinator"
	}
	return fmt.Sprintf("%v: this machine says %s, %s %s; at most %v apart is allowed; set the clock",
		ErrClockSkew, e.Local.UTC().Format(time.RFC3339Nano), source,
		e.Reference.UTC().Format(time.RFC3339Nano), e.Max)
}

// Unwrap returns [ErrClockSkew].
func (e *ClockSkewError) Unwrap() error { return ErrClockSkew }

// invalid returns an error that wraps [ErrInvalid].
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}
