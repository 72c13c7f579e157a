package backend

import (
	"testing"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// clientName and clientPassword are of the user of all clients, who has no more rights than
// that user needs: somebody with all of them may also write to a server that is read only.
const (
	clientName     = "faults"
	clientPassword = "pw"
)

// mariadb is MariaDB: one server, of a kind that could have replicas, or one and its replica.
type mariadb struct{ database }

func startMariaDB(tb testing.TB) Backend {
	tb.Helper()
	s := mysqltest.Start(tb, "--log-bin", "--sync-binlog=1")
	b := &mariadb{newMariaDB("mariadb", s)}
	b.proxy = proxy.Start(tb, s.Addr())
	b.where = func(testing.TB) (driver, source string) { return "mysql", s.DSN("") }
	b.makeUser(tb)
	return b
}

func newMariaDB(name string, servers ...*mysqltest.Server) database {
	d := database{common: common{name: name, call: tablesPrefix}}
	for _, s := range servers {
		d.servers, d.dirs = append(d.servers, s), append(d.dirs, s.Dir)
	}
	d.disconnect = "KILL USER " + clientName
	return d
}

// makeUser makes the user of all clients.
func (b *mariadb) makeUser(tb testing.TB) {
	tb.Helper()
	b.Exec(tb, "CREATE USER "+clientName+" IDENTIFIED BY '"+clientPassword+"'")
	b.Exec(tb, "GRANT ALL ON "+mysqltest.Database+".* TO "+clientName)
}

// URL implements Backend.
func (b *mariadb) URL(options ...string) string {
	return "mysql://" + clientName + ":" + clientPassword + "@" + b.proxy.Addrs()[0] + "/" + mysqltest.Database + newSettings(options).query()
}

// Fill implements Filler: the server takes no writes.
func (b *mariadb) Fill(tb testing.TB) { tb.Helper(); b.Exec(tb, "SET GLOBAL read_only = ON") }

// Drain implements Filler.
func (b *mariadb) Drain(tb testing.TB) { tb.Helper(); b.Exec(tb, "SET GLOBAL read_only = OFF") }
