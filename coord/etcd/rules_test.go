package etcd

import (
	"testing"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// After a loss of state a slot may name a grant's token and generation and yet be for
// another window. Two rules look at its NotBefore for that reason.
func TestRulesAfterALossOfState(t *testing.T) {
	slot := slotRecord{Token: "a", NotBefore: 70, NotAfter: 90, LastTick: 1000}
	if got := trimmed(slot, 20); got.NotAfter != 70 || got.Token != "" {
		t.Errorf("released at 20: %+v; (50, 70] was another holder's", got)
	}
	if got := trimmed(slot, 80); got.NotAfter != 80 {
		t.Errorf("released at 80: %+v", got)
	}
	r := renewal{
		Coordinator: &Coordinator{opts: Options{Clock: clock.System()}},
		g:           coord.Grant{NotBefore: 10, NotAfter: 20},
		until:       95,
		v:           &view{slot: slot, meta: metaRecord{Floor: 50}},
	}
	if got := r.extend(); r.from != 70 || got.NotBefore != 70 || got.NotAfter != 95 {
		t.Errorf("renewed from %d: %+v; want a piece from 70", r.from, got)
	}
	// In place: what the holder has adopted is never below what is stored.
	r.g, r.until = coord.Grant{NotBefore: 70, NotAfter: 120}, 100
	if got := r.extend(); r.from != 70 || got.NotAfter != 120 {
		t.Errorf("renewed in place from %d: %+v; want up to 120", r.from, got)
	}
}
