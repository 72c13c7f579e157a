package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestIndexed: a row is found by an index, so that a call costs the same however many namespaces
// there are.
func TestIndexed(t *testing.T) {
	d := database(t, pgtest.Start(t), "")
	c := d.New("ns")
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	plan := d.Text("%s", "EXPLAIN SELECT record FROM unalike_slots WHERE worker = 0 AND "+
		"namespace = "+pgdb.Text("ns"))
	if !strings.HasPrefix(plan, "Index Scan") {
		t.Errorf("a row is found by %s", plan)
	}
}

// TestNoPing: an idle connection is pinged only if it is dead, which costs nothing.
func TestNoPing(t *testing.T) {
	s := pgtest.Start(t)
	pool := newPool(t, s.URL())
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	ping := func() bool {
		return pool.Config().ShouldPing(t.Context(),
			pgxpool.ShouldPingParams{Conn: conn.Conn(), IdleDuration: time.Minute})
	}
	if ping() {
		t.Error("a connection that lives is pinged")
	}
	s.Kill()
	streamtest.Eventually(t, "a connection that is dead is noticed", ping)
}
