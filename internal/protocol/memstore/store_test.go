package memstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
)

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memstore.NewServer("a")
				c.Run(t, storetest.Harness{
					Store: s, Pass: time.Sleep,
					Count: func(testing.TB) int {
						st := s.State()
						return 1 + len(st.Slots) + len(st.Owners)
					},
					Writes: func(testing.TB) int64 { return s.State().Number },
				})
			})
		})
	}
}
