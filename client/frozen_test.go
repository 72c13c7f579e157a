package client_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestFrozen: a server that takes requests and never answers costs one wait now and then, and not
// every second request.
func TestFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frozen := newPaced(time.Hour)
		c := network{"a": frozen, "b": newStub(1, "n")}.client(t, stocks(10), "a", "b")
		start := time.Now()
		take(t, c, 2000, 10*time.Millisecond)
		if n, most := len(frozen.counts()), 2+int(time.Since(start)/(5*time.Second)); n == 0 || n > most {
			t.Errorf("the frozen server was asked %d times, want at most %d", n, most)
		}
	})
}
