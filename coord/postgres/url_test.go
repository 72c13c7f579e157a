package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

func TestBadURL(t *testing.T) {
	sqltest.BadURLs(t, "postgres")
	drivertest.BadURLs(t, map[string]string{
		"postgres://u:secret@h/db?namespace=ns&accept=x": `Accept has "x"; known are fsync, ` +
			"full_page_writes",
	})
}

func TestOpen(t *testing.T) {
	s := pgtest.Start(t)
	database(t, s, "").Exec("CREATE ROLE ann LOGIN SUPERUSER PASSWORD 's@/?3cret'")
	sqltest.Opened(t, "postgres://ann:s%40%2F%3F3cret@127.0.0.1:"+s.Port+"/postgres?accept=fsync")
	// the first is not there
	sqltest.Opened(t, "postgres://ann@127.0.0.1:1,127.0.0.1:"+s.Port+"/postgres?accept=fsync")
}

// TestRefused: a user who is not let in, and one that is unknown, with the password said nowhere.
func TestRefused(t *testing.T) {
	s := pgtest.Start(t)
	for _, url := range []string{
		"postgres://nobody:s3cret@127.0.0.1:" + s.Port + "/postgres?namespace=ns",
		"postgres://nobody:s3cret@127.0.0.1:" + s.Port + "/nowhere?namespace=ns",
	} {
		sqltest.WrongPassword(t, url, "nobody")
	}
}

func TestTLS(t *testing.T) {
	ca := certtest.New(t)
	pair := ca.Issue(t)
	s := pgtest.StartTLS(t, pair.Cert, pair.Key)
	sqltest.TLS(t, ca, "postgress://postgres@127.0.0.1:"+s.Port+"/postgres", "fsync")
}

// TestBadOptions: errors name what is wrong.
func TestBadOptions(t *testing.T) {
	good := newPool(t, "postgres://u@127.0.0.1:1/db")
	_, err := New(good, "a b", Options{})
	drivertest.WantInvalid(t, "New", err, "namespace")
	_, err = New(good, "ns", Options{Prefix: "A"})
	drivertest.WantInvalid(t, "New", err, "Prefix")
	_, err = New(nil, "ns", Options{})
	drivertest.WantInvalid(t, "New", err, "the pool is nil")
	for says, change := range map[string]func(*pgxpool.Config){
		"the pool does not tell of warnings; call postgres.Prepare": func(c *pgxpool.Config) {
			c.ConnConfig.OnNotice = nil
		},
		"MaxConnLifetime of the pool is 1h0m0s plus a random 1s; at most 1m0s is allowed": func(
			c *pgxpool.Config,
		) {
			c.MaxConnLifetime = time.Hour
			c.MaxConnLifetimeJitter = time.Second
		},
		"MaxConnLifetime of the pool is 0s": func(c *pgxpool.Config) { c.MaxConnLifetime = 0 },
		"the pool sets default_transaction_read_only": func(c *pgxpool.Config) {
			c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "off"
		},
		"the pool sets default_transaction_read_only in its options": func(c *pgxpool.Config) {
			c.ConnConfig.RuntimeParams["options"] = "-c default_transaction_read_only=off"
		},
	} {
		config, err := pgxpool.ParseConfig("postgres://u@127.0.0.1:1/db")
		if err != nil {
			t.Fatal(err)
		}
		Prepare(config)
		change(config)
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		_, err = New(pool, "ns", Options{})
		drivertest.WantInvalid(t, "New", err, says)
	}
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	drivertest.Place(t, "postgres://ann:secret@h/db?namespace=orders",
		"postgres://ann:secret@h/db?namespace=payments", "postgres://ann:secret@h/other?namespace=orders",
		"postgres://bob:secret@h/db?namespace=orders", "postgres://ann:secret@h,i/db?namespace=orders",
		"postgres://ann:secret@h/db?namespace=orders&prefix=own_",
		"postgres://ann:secret@/db?namespace=orders&socket=/run")
}
