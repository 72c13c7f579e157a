package main

import (
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/verify"
)

// TestHolders: who made a duplicate, as far as the coordinator knows.
func TestHolders(t *testing.T) {
	since := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	slot := coord.Slot{
		WorkerID: 7, State: coord.SlotHeld, Holder: "web\x1b[31m:4711", Identity: "pod-a", Generation: 3,
		Since: since, Until: since.Add(time.Hour), NotAfter: 1,
	}
	slot.Since = since.Add(400 * time.Microsecond)
	h := holders{
		7: {slot, time.Millisecond},
		8: {coord.Slot{WorkerID: 8, State: coord.SlotRetired}, time.Millisecond},
	}
	for _, tt := range []struct {
		worker int
		made   time.Time
		want   string
	}{
		{7, since, "worker ID 7 was held by web?[31m:4711 (identity pod-a) since " +
			"2026-06-01T00:00:00.000Z, generation 3; it is held"},
		{7, slot.Until.Add(-time.Millisecond), "worker ID 7 was held by "},
		{7, slot.Until, "made after the last window of worker ID 7 ended, 2026-06-01T01:00:00.000Z: "},
		{
			7, since.Add(-time.Millisecond),
			"made by an earlier holder of worker ID 7, which the coordinator does not " +
				"remember; the last one is web",
		},
		{8, since, "worker ID 8 was never granted: "},
		{9, since, "worker ID 9 was never granted: "},
	} {
		got := h.describe(verify.Clash{Parts: &core.Parts{WorkerID: tt.worker, Time: tt.made}})
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("worker ID %d at %v: %q, want %q", tt.worker, tt.made, got, tt.want)
		}
	}
	if got := holders(nil).describe(verify.Clash{Parts: &core.Parts{}}) +
		h.describe(verify.Clash{}); got != "" {
		t.Errorf("nobody was asked, or there are no parts: %q", got)
	}
}
