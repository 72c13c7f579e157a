package postgres

import (
	"testing"

	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
)

// FuzzURL: a URL is refused as invalid, or gives options that are allowed, and a pool that
// connects to what it names and to nothing else.
func FuzzURL(f *testing.F) {
	sqltest.URLSeeds(f, pgdb.Scheme)
	f.Fuzz(func(t *testing.T, s string) {
		target, ok := sqltest.URL(t, pgdb.Scheme, open, s)
		if !ok {
			return
		}
		config, err := pgdb.Config(target.Server)
		if err != nil {
			t.Fatal(err)
		}
		c := config.ConnConfig
		if err := config.BeforeConnect(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		user, password, err := target.Login()
		if err != nil {
			t.Fatal(err)
		}
		if c.User != user || c.Database != target.Database || c.Password != password ||
			1+len(c.Fallbacks) < len(target.Addrs) || (c.TLSConfig != nil) != (target.TLS != nil) {
			t.Errorf("%q is read as user %q, database %q, %q and %d more", s, c.User, c.Database, c.Host,
				len(c.Fallbacks))
		}
	})
}
