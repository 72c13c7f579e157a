package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestConfirmStops: a signal ends the wait for an answer.
func TestConfirmStops(t *testing.T) {
	in, other := io.Pipe() // which nobody writes to
	defer other.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var stderr strings.Builder
	a := &app{streams: streams{in: in, err: &stderr}}
	cancel()
	if err := a.confirm(ctx, false, "The plan."); !errors.Is(err, context.Canceled) {
		t.Errorf("confirm: %v", err)
	}
	if stderr.String() != "The plan.\nType yes to go on: " {
		t.Errorf("shown is %q", &stderr)
	}
}

// TestConfirmAnswers: only the whole word is taken for a yes.
func TestConfirmAnswers(t *testing.T) {
	for answer, want := range map[string]bool{
		"yes\n": true, " yes \r\n": true, "yes": true, "": false, "\n": false, "y\n": false,
		"YES\n":     false,
		"no\nyes\n": false, "yes please\n": false,
	} {
		a := &app{streams: streams{in: strings.NewReader(answer), err: io.Discard}}
		err := a.confirm(t.Context(), false, "The plan.")
		if (err == nil) != want || err != nil && !errors.Is(err, errDeclined) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	broken := errors.New("broken")
	a := &app{streams: streams{in: iotest.ErrReader(broken), err: io.Discard}}
	if err := a.confirm(t.Context(), false, ""); !errors.Is(err, broken) {
		t.Errorf("an input that fails: %v", err)
	}
	if err := a.confirm(t.Context(), true, ""); err != nil {
		t.Errorf("nobody is asked after --yes: %v", err)
	}
}
