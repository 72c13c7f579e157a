package streamtest

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// Slow runs a generator on a coordinator whose answers are late all the time, and once
// three times as late: no Next may fail. Delay sets by how much answers are late. It
// takes half a minute; in full answers are late by 3 s, and it takes 75 s. Leases and
// windows are as long as by default, so that a machine on which everything takes some
// seconds more changes nothing: what is to be seen is that renewals get through.
func Slow(tb testing.TB, c coord.Coordinator, delay func(time.Duration)) {
	tb.Helper()
	slowness := time.Duration(fulltest.Rounds(1000, 3000)) * time.Millisecond
	lease := coord.LeaseConfig{RenewEvery: time.Duration(fulltest.Rounds(2, 5)) * time.Second}
	g := Generate(tb, c, core.Config{Lease: lease})
	var last core.ID
	renewed := func(by time.Duration) { // takes IDs until the window was extended
		tb.Helper()
		delay(by)
		began := time.Now()
		Eventually(tb, "the window is extended", func() bool {
			id, err := g.Next()
			if err != nil || id <= last {
				safetytest.Unless(tb, err).Fatalf("with answers that are late by %v, after %d came %d, %v", by,
					last, id, err)
			}
			last = id
			w := g.Health().Workers
			return len(w) == 1 && w[0].LastRenewal.After(began)
		})
	}
	length := time.Duration(fulltest.Rounds(30, 75)) * time.Second
	for range 2 {
		for end := time.Now().Add(length / 2); time.Now().Before(end); {
			renewed(slowness)
		}
		renewed(3 * slowness)
	}
	delay(0)
}
