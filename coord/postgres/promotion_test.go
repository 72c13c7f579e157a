package postgres

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// TestCoordinator_PromotionIsOneLoss: a process has many connections to a server that goes on when
// its standby takes its place. It notices one loss, and does not go back and forth between the two.
func TestCoordinator_PromotionIsOneLoss(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	d := database(t, s, "")
	standby := s.Standby(t)
	p := proxytest.Start(t, "127.0.0.1:"+s.Port)
	var log bytes.Buffer
	c, err := coord.Open(t.Context(), "postgres://postgres@"+p.Addr+
		"/postgres?namespace=ns&accept=fsync",
		coord.OpenOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c = drivertest.Closing(t, c, err)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	calls := func(each func()) {
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(each)
		}
		wg.Wait()
	}
	for p.Connections() < 4 {
		calls(func() { _, _ = c.(coord.AdminCoordinator).Inspect(drivertest.Within(t)) })
	}
	database(t, standby, "").Do("SELECT pg_promote()")
	p.Lead("127.0.0.1:" + standby.Port)
	d.Do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
		"WHERE application_name = 'unalike' LIMIT 1")
	for range 10 {
		_, _ = c.Renew(drivertest.Within(t), g, g.NotAfter+1)
		calls(func() { _, _ = c.(coord.AdminCoordinator).Inspect(drivertest.Within(t)) })
	}
	if n := strings.Count(log.String(), "may have lost writes"); n != 1 {
		t.Errorf("%d losses are logged; want one:\n%s", n, &log)
	}
}
