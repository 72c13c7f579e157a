package mysqltest

import (
	"database/sql"
	"fmt"
	"strconv"
	"testing"
)

// Replica runs a server that gets what this one has written in its binary log, which it has
// from its first start on, and what it writes.
func (s *Server) Replica(tb testing.TB, args ...string) *Server {
	tb.Helper()
	r := Start(tb, args...)
	// What the server has written into its own log when it was made is not in the way.
	r.follow(tb, s, "RESET MASTER; SET GLOBAL gtid_slave_pos = ''")
	return r
}

// follow has a server get what another one writes, from a position on that statements have set.
func (s *Server) follow(tb testing.TB, primary *Server, position string) {
	tb.Helper()
	port, err := strconv.Atoi(primary.Port)
	if err != nil {
		tb.Fatal(err)
	}
	db, err := sql.Open("mysql", s.DSN("?multiStatements=true"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(fmt.Sprintf("%s; CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, "+
		"MASTER_USER='%s', MASTER_PASSWORD='%s', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1; "+
		"START SLAVE",
		position, port, User, Password)); err != nil {
		tb.Fatal(err)
	}
}
