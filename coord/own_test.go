package coord_test

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
)

// TestOwnCoordinator: the coordinator of the example keeps the rules.
func TestOwnCoordinator(t *testing.T) {
	coordtest.Run(t, func(testing.TB) coordtest.Harness {
		m := &inMemory{slots: map[int]slot{}}
		return coordtest.Harness{
			Client: func(testing.TB, coord.Range) coord.Coordinator { return m },
			Expire: func(_ testing.TB, g coord.Grant) {
				m.mu.Lock()
				defer m.mu.Unlock()
				s := m.slots[g.WorkerID]
				s.ends = time.Time{}
				m.slots[g.WorkerID] = s
			},
		}
	})
}
