package safetytest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// recorder keeps what a test reports.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Error(args ...any)         { r.note("error", fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.note("error", fmt.Sprintf(f, a...)) }
func (r *recorder) Fatal(args ...any)         { r.note("fatal", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.note("fatal", fmt.Sprintf(f, a...)) }

func (r *recorder) note(how, what string) { r.said = append(r.said, how+" "+what) }

// TestOf: each failure is marked, whichever method reports it.
func TestOf(t *testing.T) {
	r := new(recorder)
	v := safetytest.Of(r)
	v.Error("after", 100, "came", 90)
	v.Errorf("%d%% of %s", 5, "IDs")
	v.Fatal("lost")
	v.Fatalf("(%d, 8]", 1)
	safetytest.Unless(r, nil).Errorf("marked")
	safetytest.Unless(r, errors.New("late")).Errorf("not marked")
	want := strings.ReplaceAll("error MARKafter 100 came 90\n|error MARK5% of IDs|"+
		"fatal MARKlost\n|fatal MARK(1, 8]|error MARKmarked|error not marked", "MARK", safetytest.Marker)
	if got := strings.Join(r.said, "|"); got != want {
		t.Errorf("said was\n%s\nwant\n%s", got, want)
	}
}
