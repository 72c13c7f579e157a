package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// connections counts those of ann.
const connections = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'ann'"

// ofAnn returns a database for a user, and where it is.
func ofAnn(t *testing.T) (d *sqltest.Database, addr string) {
	t.Helper()
	s := mysqltest.Start(t)
	d = database(t, s, "")
	d.Do("CREATE USER ann IDENTIFIED BY 'pw'", "GRANT ALL ON unalike.* TO ann")
	return d, s.Addr()
}

// TestWaitingHeavy: what processes do that wait for a worker ID.
func TestWaitingHeavy(t *testing.T) {
	drivertest.Waiting(t, func(t *testing.T) drivertest.Awaited {
		d, addr := ofAnn(t)
		p := proxytest.Start(t, addr)
		return drivertest.Awaited{
			URL: "mysql://ann:pw@" + p.Addr + "/unalike?namespace=ns", Proxy: p,
			Writes: func() int64 {
				return d.Int("SELECT CAST(SUM(VARIABLE_VALUE) AS SIGNED) FROM " +
					"information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN ('HANDLER_WRITE', " +
					"'HANDLER_UPDATE', 'HANDLER_DELETE')")
			},
			Connections: func() int64 { return d.Int(connections) },
		}
	})
}

// TestResting: a process without a worker ID keeps no connection.
func TestResting(t *testing.T) {
	t.Parallel()
	d, addr := ofAnn(t)
	sqltest.Resting(d, "mysql://ann:pw@"+addr+"/unalike?", connections)
}
