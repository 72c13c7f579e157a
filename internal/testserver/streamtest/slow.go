package streamtest

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
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
	end := time.Now().Add(time.Duration(fulltest.Rounds(30, 75)) * time.Second)
	g := Generate(tb, c, core.Config{Lease: lease})
	s := Run(g)
	hiccup := time.Now().Add(time.Until(end) / 2)
	for delay(slowness); time.Now().Before(end); {
		if !hiccup.IsZero() && time.Now().After(hiccup) {
			delay(3 * slowness)
			RenewedSince(tb, g, time.Now())
			hiccup = time.Time{}
		}
		delay(slowness)
		RenewedSince(tb, g, time.Now())
	}
	delay(0)
	s.Stop(tb, 1000)
	tb.Logf("%d IDs with answers that were late by %v, once by %v", s.N, slowness, 3*slowness)
}
