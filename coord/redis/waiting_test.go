package redis_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestWaitingHeavy: what processes do that wait for a worker ID.
func TestWaitingHeavy(t *testing.T) {
	drivertest.Waiting(t, func(t *testing.T) drivertest.Awaited {
		s := redistest.Start(t, redistest.Options{})
		p := proxytest.Start(t, s.Addr)
		return drivertest.Awaited{
			URL: "redis://" + p.Addr + "?namespace=ns", Proxy: p,
			Writes: func() int64 {
				_, after, _ := strings.Cut(s.Do(t, "INFO", "persistence"), "rdb_changes_since_last_save:")
				number, _, _ := strings.Cut(after, "\r")
				n, err := strconv.ParseInt(number, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return n
			},
		}
	})
}
