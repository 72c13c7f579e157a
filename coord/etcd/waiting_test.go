package etcd_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// TestWaitingHeavy: what processes do that wait for a worker ID.
func TestWaitingHeavy(t *testing.T) {
	drivertest.Waiting(t, func(t *testing.T) drivertest.Awaited {
		s := etcdtest.Start(t)
		p, client := proxytest.Start(t, s.Endpoint), s.Client(t)
		return drivertest.Awaited{
			URL: "etcd://" + p.Addr + "/ns", Proxy: p, Watches: true,
			Writes: func() int64 {
				r, err := client.Get(drivertest.Within(t), "any")
				if err != nil {
					t.Fatal(err)
				}
				return r.Header.Revision
			},
		}
	})
}

// TestClocksAhead: all clocks are a year ahead for a moment.
func TestClocksAhead(t *testing.T) {
	s := etcdtest.Start(t)
	drivertest.ClocksAhead(t, func(ns string) string { return "etcd://" + s.Endpoint + "/" + ns })
}

// TestSuspended: a machine that was suspended for an hour issues IDs within a second.
func TestSuspended(t *testing.T) {
	drivertest.Suspended(t, "etcd://"+etcdtest.Start(t).Endpoint+"/ns")
}
