package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestOneRoundTrip: a transaction is one round trip on the wire.
func TestOneRoundTrip(t *testing.T) {
	s := pgtest.Start(t)
	d, f := database(t, s, ""), &sqltest.Flights{}
	config := d.DB.(*db).pool.Config()
	config.MaxConns, config.ConnConfig.DialFunc = 1, f.Dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.DB = &db{pool}
	sqltest.OneRoundTrip(t, d, f)
}

// TestNoPing: an idle connection is pinged only if it is dead, which costs nothing.
func TestNoPing(t *testing.T) {
	s := pgtest.Start(t)
	pool := database(t, s, "").DB.(*db).pool
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
	config := d.DB.(*db).pool.Config()
	config.MaxConns, config.ConnConfig.DialFunc = 1, broken.Dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.DB = &db{pool}
	sqltest.Half(t, d, broken, database(t, s, ""))
}

// TestSentOnce: a change whose connection breaks is not sent again.
func TestSentOnce(t *testing.T) {
	s := pgtest.Start(t)
	d, broken := database(t, s, ""), &sqltest.Broken{}
	config := d.DB.(*db).pool.Config()
	config.ConnConfig.DialFunc = broken.Dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.DB = &db{pool}
	sqltest.SentOnce(t, d, broken)
}
