package main

import (
	"testing"
	"time"
)

// TestTimeoutBoundsTheOpening: where a coordinator is asked when it is opened, that is a call
// as well, and ends when the command has said that it would.
func TestTimeoutBoundsTheOpening(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"etcd://u:secret@" + silent(t) + "/x", hungFolder(t)} {
		began := time.Now()
		got := callWithin(t, time.Hour, "workers", "--timeout", "100ms", "--coordinator", url)
		wantCall(t, got, exitFailure, "", "unalike: still waiting for ")
		if took := time.Since(began); took > 4*time.Second { // the drivers themselves take 5 s and more
			t.Errorf("it took %v:\n%s", took, got.stderr)
		}
	}
}

// TestLookIsShort: where connections are neither taken nor refused, the look whether anybody
// is there and the silence after it are less than the second within which a wait is told of.
func TestLookIsShort(t *testing.T) {
	if silence := dialTime + quietTime; silence >= time.Second {
		t.Errorf("a wait is told of after %v", silence)
	}
}
