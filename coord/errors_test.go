package coord

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestErrors: every typed error is its sentinel, through wrapping, and says what
// it knows.
func TestErrors(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 0, 0, 500e6, time.FixedZone("", 3600))
	for _, tt := range []struct {
		err, sentinel error
		want          string
	}{
		{
			&NoWorkerIDError{Namespace: "n", Capacity: 4, InUse: 4}, ErrNoWorkerID,
			`coord: no free worker ID in namespace "n": 4 of 4 are held; stop a holder, widen the share, ` +
				`or use a layout with more worker bits`,
		},
		{
			&NoWorkerIDError{Namespace: "n", Capacity: 4, InUse: 4, Soonest: at}, ErrNoWorkerID,
			`coord: no free worker ID in namespace "n": 4 of 4 are held; the next is free at ` +
				`2026-11-21T01:00:00.5Z unless it is renewed; stop a holder, widen the share, or ` +
				`use a layout ` +
				`with more worker bits`,
		},
		{&QuarantinedError{Namespace: "n", Until: at}, ErrQuarantined, `coord: namespace quarantined: ` +
			`nothing is granted in namespace "n" before 2026-11-21T01:00:00.5Z; service resumes by itself`},
		{
			&LayoutMismatchError{Namespace: "n", Stored: "a", Wanted: "b"}, ErrLayoutMismatch,
			`coord: layout mismatch: namespace "n" has layout a, this generator has b; use the stored ` +
				`layout or another namespace`,
		},
		{
			&ClockSkewError{Local: at, Reference: at.Add(time.Minute), Max: time.Second}, ErrClockSkew,
			`coord: clock skew: this machine says 2026-11-21T01:00:00.5Z, the coordinator ` +
				`2026-11-21T01:01:00.5Z; at most 1s apart is allowed; set the clock`,
		},
		{
			&ClockSkewError{
				Local: at, Reference: at.Add(time.Minute), Source: "the median of the holders",
				Max: time.Second,
			}, ErrClockSkew,
			`coord: clock skew: this machine says 2026-11-21T01:00:00.5Z, ` +
				`the median of the holders 2026-11-21T01:01:00.5Z; at most 1s apart is allowed; set the clock`,
		},
	} {
		if tt.err.Error() != tt.want {
			t.Errorf("%T says\n\t%v\nwant\n\t%s", tt.err, tt.err, tt.want)
		}
		client := errors.New("the client's own")
		wrapped := fmt.Errorf("acquire: %w: %w", tt.err, client)
		if !errors.Is(wrapped, tt.sentinel) || !errors.Is(wrapped, client) {
			t.Errorf("%v is not both %v and %v", wrapped, tt.sentinel, client)
		}
		for _, other := range []error{
			ErrNoWorkerID, ErrLeaseLost, ErrQuarantined, ErrLayoutMismatch,
			ErrClockSkew, ErrInvalid, ErrClosed,
		} {
			if !errors.Is(tt.sentinel, other) && errors.Is(wrapped, other) {
				t.Errorf("%v is also %v", wrapped, other)
			}
		}
	}
}

func TestPermanent(t *testing.T) {
	for err, want := range map[error]bool{
		ErrNoWorkerID: true, ErrLayoutMismatch: true, ErrClockSkew: true, ErrInvalid: true,
		ErrClosed:    true,
		ErrLeaseLost: false, ErrQuarantined: false, context.DeadlineExceeded: false, nil: false,
	} {
		if got := Permanent(err); got != want {
			t.Errorf("Permanent(%v) is %v", err, got)
		}
		if got := Permanent(fmt.Errorf("acquire: %w", err)); got != want {
			t.Errorf("Permanent(%v), wrapped, is %v", err, got)
		}
	}
}

func TestGrantString(t *testing.T) {
	g := Grant{WorkerID: 7, Generation: 3, Token: "secret", NotBefore: 10, NotAfter: 20, Handle: 1}
	if got, want := g.String(), "worker ID 7, generation 3, window (10, 20]"; got != want {
		t.Errorf("a grant is printed as %q; want %q", got, want)
	}
}
