package zk_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestWaitingHeavy: what processes do that wait for a worker ID.
func TestWaitingHeavy(t *testing.T) {
	drivertest.Waiting(t, func(t *testing.T) drivertest.Awaited {
		s := zktest.Start(t, zktest.Options{})
		p := proxytest.Start(t, s.Addr)
		return drivertest.Awaited{
			URL: "zk://" + p.Addr + "?namespace=ns", Proxy: p, Watches: true,
			Writes: func() int64 { return s.Writes(t) },
		}
	})
}

// TestClocksAhead: all clocks are a year ahead for a moment.
func TestClocksAhead(t *testing.T) {
	s := zktest.Start(t, zktest.Options{})
	drivertest.ClocksAhead(t, func(ns string) string { return "zk://" + s.Addr + "?namespace=" + ns })
}
