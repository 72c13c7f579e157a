// Package safetytest reports violations of what this project promises, whatever the machine is
// busy with: a duplicate, a wrong order, a stamp outside a window, a grant below a floor, a lost
// number, or a leaked worker ID or goroutine. Command internal/testrun forgives a few failures that
// do not happen again. It never forgives a violation.
package safetytest

import (
	"fmt"
	"testing"
)

// Marker begins the text of each violation. It is how internal/testrun finds one in the output of
// go test.
const Marker = "SAFETY VIOLATION: "

// Of returns tb, with each of its failures marked as a violation. Like those of tb, Error and
// Errorf may be called by any goroutine, and Fatal and Fatalf by that of the test alone.
func Of(tb testing.TB) testing.TB { return violation{tb} }

// Unless returns tb if err is not nil, because a call that failed has given out nothing. Otherwise
// it returns [Of] tb. It is for a check that fails both if a call has failed and if the call has
// returned what it must not.
func Unless(tb testing.TB, err error) testing.TB {
	if err != nil {
		return tb
	}
	return Of(tb)
}

// violation marks failures.
type violation struct{ testing.TB }

// Error implements [testing.TB].
func (v violation) Error(args ...any) {
	v.Helper()
	v.TB.Error(Marker + fmt.Sprintln(args...))
}

// Errorf implements [testing.TB].
func (v violation) Errorf(format string, args ...any) {
	v.Helper()
	v.TB.Errorf("%s%s", Marker, fmt.Sprintf(format, args...))
}

// Fatal implements [testing.TB].
func (v violation) Fatal(args ...any) {
	v.Helper()
	v.TB.Fatal(Marker + fmt.Sprintln(args...))
}

// Fatalf implements [testing.TB].
func (v violation) Fatalf(format string, args ...any) {
	v.Helper()
	v.TB.Fatalf("%s%s", Marker, fmt.Sprintf(format, args...))
}
