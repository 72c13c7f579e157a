package static

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// TestReleaseWhateverTheContextSays: a worker ID that was given back with a context that
// had ended is free for whatever is asked for next, and trimmed.
func TestReleaseWhateverTheContextSays(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, state := range []string{"", statePathOf(t)} {
		for _, busy := range []bool{false, true} {
			ns := rand.Text()
			if state != "" {
				state = statePathOf(t)
			}
			c := open(t, Options{Namespace: ns, State: state, AcceptFresh: true})
			g := acquire(t, c, request("a", 1000))
			if busy { // with something else
				c.turn <- struct{}{}
			}
			if err := c.Release(ended, g, 1500); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if busy {
				<-c.turn
			}
			window(t, acquire(t, c, request("b", 1600)), 1500, 4600)
		}
	}
}

// TestCloseReleasesWhatWasAskedFor: a release is not lost to a Close right behind it.
func TestCloseReleasesWhatWasAskedFor(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c, g, path := held(t)
	c.turn <- struct{}{} // so that the release has to wait
	if err := c.Release(ended, g, 1500); !errors.Is(err, context.Canceled) {
		t.Fatalf("Release: %v; want %v", err, context.Canceled)
	}
	closed := make(chan error)
	go func() { closed <- c.Close() }()
	<-c.done // nobody but Close takes a turn from here on
	<-c.turn
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if r := stored(t, path); r.NotAfter != 1500 || r.Token != "" {
		t.Errorf("stored is %+v; want it released at 1500", r)
	}
	if err := c.Release(ended, g, 1500); !errors.Is(err, coord.ErrClosed) {
		t.Errorf("Release after Close: %v", err)
	}
}

// TestReleaseIsJoined: the second attempt of a release under way is the same release.
func TestReleaseIsJoined(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c, g, _ := held(t)
	c.turn <- struct{}{}
	if err := c.Release(ended, g, 1500); !errors.Is(err, context.Canceled) {
		t.Fatalf("Release: %v; want %v", err, context.Canceled)
	}
	second := make(chan error)
	go func() { second <- c.Release(t.Context(), g, 1500) }()
	waitForCallers(c, callKey{op: opRelease, worker: 7, generation: 1, token: "a", last: 1500}, 1)
	<-c.turn
	if err := <-second; err != nil {
		t.Errorf("the second attempt: %v", err)
	}
}

// TestNotMadeByNew: a Coordinator that is zero or nil refuses, and does not panic.
func TestNotMadeByNew(t *testing.T) {
	const want = "coord: invalid: this static coordinator was not made by New"
	for _, c := range []*Coordinator{nil, new(Coordinator)} {
		_, err := c.Acquire(t.Context(), request("a", 1000))
		wantError(t, err, coord.ErrInvalid, want)
		_, err = c.Renew(t.Context(), coord.Grant{}, 0)
		wantError(t, err, coord.ErrInvalid, want)
		wantError(t, c.Release(t.Context(), coord.Grant{}, 0), coord.ErrInvalid, want)
		_, err = c.List(t.Context())
		wantError(t, err, coord.ErrInvalid, want)
		wantError(t, c.Close(), coord.ErrInvalid, want)
		if l := c.Describe().Rules; l.Default.Horizon != DefaultHorizon {
			t.Errorf("lease rules are %+v", l)
		}
	}
}
