package stage

import (
	"testing"
	"time"
)

// TestRecoveredIn: the longest time counts, whoever has measured it.
func TestRecoveredIn(t *testing.T) {
	sc := scenario(func(s *Stage) {
		good(s)
		s.RecoveredIn(time.Hour)
		s.RecoveredIn(time.Second)
	})
	sc.Recovery = patience
	if r := perform(t, sc); r.Passed() || r.Recovery != time.Hour {
		t.Errorf("the result is %+v; want one that has failed, with a recovery of an hour", r)
	}
}
