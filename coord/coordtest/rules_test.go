package coordtest

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// After a loss of state a repeated Acquire can give the same token the same
// generation again, for another window. Two rules look at the stored NotBefore for
// that reason alone; no history that starts from an intact state shows them.
func TestRulesAfterALossOfState(t *testing.T) {
	r := correct()
	g := coord.Grant{NotBefore: 10, NotAfter: 20} // granted before the loss
	again := slot{from: 70, stored: 90}           // the slot that names its token now
	if got := r.piece(g, again, 50); got != 70 {
		t.Errorf("the renewal begins at %d, want 70: (50, 70] was another holder's", got)
	}
	if got := r.piece(g, slot{from: 10, stored: 20}, 15); got != 10 {
		t.Errorf("a renewal in place begins at %d, want 10", got)
	}
	if got := r.trim(again, 20); got != 70 {
		t.Errorf("the release trims to %d, want 70: (50, 70] was another holder's", got)
	}
	if got := r.trim(again, 80); got != 80 {
		t.Errorf("the release trims to %d, want 80", got)
	}
}
