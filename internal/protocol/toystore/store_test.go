package toystore

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
)

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Harness {
		c := clocktest.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		s := New(c)
		return storetest.Harness{Store: s, Pass: c.Advance, Count: func(testing.TB) int { return 1 + len(s.slots) + len(s.marks) + len(s.last) }}
	})
}
