package protocol

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/unalike-id/unalike/coord"
)

// After a loss of state a slot may name a grant's token and generation and yet be for
// another window. Two rules look at its NotBefore for that reason.
func TestRulesAfterALossOfState(t *testing.T) {
	slot := Slot{Token: "a", NotBefore: 70, NotAfter: 90, LastTick: 1000}
	if got := slot.Trimmed(coord.Grant{}, 20); got.NotAfter != 70 || got.Token != "" {
		t.Errorf("released at 20: %+v; (50, 70] was another holder's", got)
	}
	if got := slot.Trimmed(coord.Grant{}, 80); got.NotAfter != 80 {
		t.Errorf("released at 80: %+v", got)
	}
	// What the back end has forgotten of the window was stamped.
	if got := slot.Trimmed(coord.Grant{NotAfter: 120}, 110); got.NotAfter != 110 {
		t.Errorf("a window until 120 released at 110: %+v", got)
	}
	g := coord.Grant{NotBefore: 10, NotAfter: 20}
	if got, from, grows := slot.Extended(g, 50, 95, 1); from != 70 || got.NotBefore != 70 ||
		got.NotAfter != 95 || !grows {
		t.Errorf("renewed from %d: %+v; want a piece from 70", from, got)
	}
	// In place: what the holder has adopted is never below what is stored.
	g = coord.Grant{NotBefore: 70, NotAfter: 120}
	if got, from, grows := slot.Extended(g, 50, 100, 1); from != 70 || got.NotAfter != 120 || !grows {
		t.Errorf("renewed in place from %d: %+v; want up to 120", from, got)
	}
}

// A floor above what is wanted leaves the window as it is, and the lease is kept.
func TestExtendedBelowTheFloor(t *testing.T) {
	slot := Slot{Token: "a", NotBefore: 10, NotAfter: 20, LastTick: 1000, Renewed: 1}
	want := slot
	want.Renewed = 7
	if got, _, grows := slot.Extended(coord.Grant{NotBefore: 10, NotAfter: 20}, 50, 50, 7); grows ||
		got != want {
		t.Errorf("renewed to the floor itself: %+v, grows %v; want %+v", got, grows, want)
	}
	// What the back end has forgotten of the window is stored again: the floor may be lowered.
	want.NotAfter = 40
	if got, _, grows := slot.Extended(coord.Grant{NotBefore: 10, NotAfter: 40}, 50, 50, 7); grows ||
		got != want {
		t.Errorf("renewed after a loss to the floor itself: %+v, grows %v; want %+v", got, grows, want)
	}
}

// What a holder calls itself is stored by others, and reaches logs and terminals.
func TestLostQuotesTheHolder(t *testing.T) {
	slot := Slot{Token: "a", Generation: 2, Holder: "\x1b[2Jpod\n7"}
	err := slot.Lost(coord.Grant{WorkerID: 3})
	if !errors.Is(err, coord.ErrLeaseLost) || strings.ContainsFunc(err.Error(), unicode.IsControl) ||
		!strings.Contains(err.Error(), `"\x1b[2Jpod\n7" has it since`) {
		t.Errorf("the error is %q", err)
	}
}
