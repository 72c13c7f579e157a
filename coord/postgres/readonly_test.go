package postgres

import (
	"testing"

	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// freeze has an operator make a server read-only.
var freeze = []string{
	"ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()",
}

// TestReadOnly: a server that an operator has made read-only is written to by nobody, also not in
// a session that was there before.
func TestReadOnly(t *testing.T) {
	database(t, pgtest.Start(t), "").Frozen(freeze, []string{
		"ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()",
	})
}

// TestCoordinator_SwitchOverRepeatsNoID counts the IDs of two generators in a planned switch-over.
func TestCoordinator_SwitchOverRepeatsNoID(t *testing.T) {
	fulltest.Long(t, "what the left server may have granted is over after two minutes")
	t.Parallel()
	s := pgtest.Start(t)
	d := database(t, s, "")
	standby := s.Standby(t)
	sqltest.SwitchOver(sqltest.Replicated{
		Database: d, Addr: "127.0.0.1:" + s.Port,
		Freeze: func() { d.Do(freeze...) },
		Promote: func() string {
			database(t, standby, "").Do("SELECT pg_promote()")
			return "127.0.0.1:" + standby.Port
		},
		URL: func(addr string) string {
			return "postgres://postgres@" + addr + "/postgres?namespace=ns&accept=fsync"
		},
	})
}
