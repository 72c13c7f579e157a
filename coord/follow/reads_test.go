package follow_test

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
)

// TestReadsDoNotWrite: an end that is looked at is only read, and so is what forbids a move.
func TestReadsDoNotWrite(t *testing.T) {
	prev := existing().add(0, coord.SlotFree, 500)
	prev.floor = 700
	end, err := follow.EndOf(t.Context(), prev, followSpace())
	if err != nil || !end.Until.Equal(prev.micro(701)) || end.Closed {
		t.Errorf("EndOf: %+v, %v; want the end of the floor, tick 700", end, err)
	}
	prev.floor = prev.space.LastTick
	if end, err := follow.EndOf(t.Context(), prev, followSpace()); err != nil ||
		!end.Until.Equal(prev.micro(501)) || !end.Closed {
		t.Errorf("EndOf of a closed namespace: %+v, %v; want the end of its window, tick 500", end, err)
	}
	next := existing()
	if _, err := follow.Namespace(t.Context(), next, prev, followSpace()); err == nil {
		t.Error("a stranger follows a closed namespace")
	}
	if prev.writes() != 0 || next.writes() != 1 { // Init
		t.Errorf("calls: %v to the old namespace, %v to the new one; want no writes, but for Init",
			prev.calls, next.calls)
	}
}
