package stage

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/journal"
)

// TestRecoveredFrom: IDs that were issued between the fault and now are no recovery.
func TestRecoveredFrom(t *testing.T) {
	const pause = 200 * time.Millisecond
	sc := scenario(func(s *Stage) {
		w := good(s)
		fault := journal.Now()
		s.Recovered(fault, w)
		s.Sleep(pause)
		if took := s.RecoveredFrom(fault, w); took < pause {
			s.Errorf("it took %v; want at least %v", took, pause)
		}
	})
	sc.Recovery = patience
	if r := perform(t, sc); !r.Passed() || r.Recovery < pause {
		t.Errorf("the result is %+v; want one that has passed, with a recovery of at least %v", r, pause)
	}
}
