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

// TestOneRoundTrip: a transaction is one round trip on the wire.
func TestOneRoundTrip(t *testing.T) {
	s := pgtest.Start(t)
	d, f := database(t, s, ""), &sqltest.Flights{}
	config := d.DB.(*pgdb.DB).Pool.Config()
	config.MaxConns, config.ConnConfig.DialFunc = 1, f.Dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.DB = &pgdb.DB{Pool: pool}
	sqltest.OneRoundTrip(t, d, f)
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

// TestHalf: a client whose last packet is lost leaves nothing locked.
func TestHalf(t *testing.T) {
	s := pgtest.Start(t)
	d, broken := database(t, s, ""), &sqltest.Severed{}
	config := d.DB.(*pgdb.DB).Pool.Config()
	config.MaxConns, config.ConnConfig.DialFunc = 1, broken.Dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.DB = &pgdb.DB{Pool: pool}
	sqltest.Half(t, d, broken, database(t, s, ""))
}

// TestSentOnce: a change whose connection breaks is not sent again.
func TestSentOnce(t *testing.T) {
	s := pgtest.Start(t)
	d, broken := database(t, s, ""), &sqltest.Broken{}
	config := d.DB.(*pgdb.DB).Pool.Config()
	config.ConnConfig.DialFunc = broken.Dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.DB = &pgdb.DB{Pool: pool}
	sqltest.SentOnce(t, d, broken)
}
