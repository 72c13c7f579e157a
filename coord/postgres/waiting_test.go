package postgres

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// connections counts those of coordinators.
const connections = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'unalike'"

// TestWaitingHeavy: what processes do that wait for a worker ID.
func TestWaitingHeavy(t *testing.T) {
	drivertest.Waiting(t, func(t *testing.T) drivertest.Awaited {
		s := pgtest.Start(t)
		d, p := database(t, s, ""), proxytest.Start(t, "127.0.0.1:"+s.Port)
		return drivertest.Awaited{
			URL: "postgres://postgres@" + p.Addr + "/postgres?namespace=ns&accept=fsync", Proxy: p,
			Writes: func() int64 {
				return d.Int("SELECT SUM(n_tup_ins + n_tup_upd + n_tup_del)::bigint " +
					"FROM pg_stat_user_tables")
			},
			Connections: func() int64 { return d.Int(connections) },
		}
	})
}

// TestWaiting_RestartHeavy: after a restart of the server, 60 processes that wait leave 32 holders
// their share of 40 connections.
func TestWaiting_RestartHeavy(t *testing.T) {
	fulltest.Heavy(t, "92 processes have to begin to wait, or to renew")
	const holders, waiters = 32, 60
	limit := 2 * time.Minute // on a busy machine
	if fulltest.Quiet() {
		limit = 30 * time.Second
	}
	s := pgtest.Start(t, "-c", "max_connections=40")
	url := s.URL() + "?namespace=ns&accept=fsync"
	all := drivertest.StartProcesses(t, url, holders, holders, true)
	drivertest.StartProcesses(t, url, waiters, holders, false)
	time.Sleep(12 * time.Second) // all wait
	s.Kill()
	s.Restart(t)
	back := time.Now()
	for _, p := range all {
		proctest.Eventually(t, limit-time.Since(back), "each holder has renewed", func() bool {
			return p.Health().LastRenewal.After(back)
		})
	}
	t.Logf("all have renewed %v after the server is back", time.Since(back))
}

// TestResting: a process without a worker ID keeps no connection.
func TestResting(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	sqltest.Resting(database(t, s, ""), s.URL()+"?accept=fsync&", connections)
}
