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
// takes half a minute; in full it has the default lease times, answers that are late by
// 3 s, and takes 75 s.
func Slow(tb testing.TB, c coord.Coordinator, delay func(time.Duration)) {
	tb.Helper()
	late := time.Duration(fulltest.Rounds(1000, 3000)) * time.Millisecond
	lease := coord.LeaseConfig{TTL: 6 * time.Second, Horizon: 12 * time.Second}
	if late == 3*time.Second {
		lease = coord.LeaseConfig{}
	}
	end := time.Now().Add(time.Duration(fulltest.Rounds(30, 75)) * time.Second)
	g := Generate(tb, c, core.Config{Lease: lease})
	s := Run(g)
	hiccup := time.Now().Add(time.Until(end) / 2)
	for delay(late); time.Now().Before(end); {
		if !hiccup.IsZero() && time.Now().After(hiccup) {
			delay(3 * late)
			RenewedSince(tb, g, time.Now())
			hiccup = time.Time{}
		}
		delay(late)
		RenewedSince(tb, g, time.Now())
	}
	delay(0)
	s.Stop(tb, 1000)
	tb.Logf("%d IDs with answers that were late by %v, once by %v", s.N, late, 3*late)
}
