package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// wired connects to a server over a wire, with so many connections.
func wired(t *testing.T, s *pgtest.Server, w *sqltest.Wire, conns int32) *sqltest.Database {
	t.Helper()
	d := database(t, s, "")
	config := d.DB.(*pgdb.DB).Pool.Config()
	config.MaxConns, config.ConnConfig.DialFunc = conns, w.Dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.DB = &pgdb.DB{Pool: pool}
	return d
}

// TestOneRoundTrip: a transaction is one round trip on the wire.
func TestOneRoundTrip(t *testing.T) {
	w := new(sqltest.Wire)
	sqltest.OneRoundTrip(t, wired(t, pgtest.Start(t), w, 1), w)
}

// TestHalf: a client whose last packet is lost leaves nothing locked.
func TestHalf(t *testing.T) {
	s, w := pgtest.Start(t), new(sqltest.Wire)
	sqltest.Half(t, wired(t, s, w, 1), w, database(t, s, ""))
}

// TestSentOnce: a change whose connection breaks is not sent again.
func TestSentOnce(t *testing.T) {
	w := new(sqltest.Wire)
	sqltest.SentOnce(t, wired(t, pgtest.Start(t), w, 16), w)
}

// TestIndexed: a row is found by an index, so that a call costs the same however many namespaces
// there are.
func TestIndexed(t *testing.T) {
	d := database(t, pgtest.Start(t), "")
	c, _ := d.New(t, "ns")
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	plan := d.Text(t, "%s", "EXPLAIN SELECT record FROM unalike_slots WHERE worker = 0 AND namespace = "+pgdb.Text("ns"))
	if !strings.HasPrefix(plan, "Index Scan") {
		t.Errorf("a row is found by %s", plan)
	}
}

// TestNoPing: an idle connection is pinged only if it is dead, which costs nothing.
func TestNoPing(t *testing.T) {
	s := pgtest.Start(t)
	pool := database(t, s, "").DB.(*pgdb.DB).Pool
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	ping := func() bool {
		return pool.Config().ShouldPing(t.Context(), pgxpool.ShouldPingParams{Conn: conn.Conn(), IdleDuration: time.Minute})
	}
	if ping() {
		t.Error("a connection that lives is pinged")
	}
	s.Kill()
	streamtest.Eventually(t, "a connection that is dead is noticed", ping)
}
