package main

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// TestSQL: every command on databases, with a password that only a variable has, and a
// namespace that moves from one to the other and on to an embedded etcd.
func TestSQL(t *testing.T) {
	t.Parallel()
	my, pg := mysqltest.Start(t), pgtest.Start(t)
	db, err := sql.Open("mysql", my.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range []string{"CREATE USER ann IDENTIFIED BY 'secret/?@1'", "GRANT ALL ON unalike.* TO ann"} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"PASSWORD": "secret/?@1"}
	file := settingsFile(t, "coordinator: mysql://ann:${PASSWORD}@"+my.Addr()+"/unalike?namespace=n\n")
	do := func(args ...string) result { return call(t, env, "", append(args, "--config", file)...) }
	wantCall(t, do("init"), exitOK, "is new", "")
	wantCall(t, do("generate", "--count", "3"), exitOK, "\n", "")
	wantCall(t, do("retire", "3", "--yes"), exitOK, "is retired", "")
	wantCall(t, do("workers"), exitOK, "retired", "")
	from := "mysql://ann:secret%2F%3F%401@" + my.Addr() + "/unalike?namespace=n"
	for _, to := range []string{"postgres://postgres@127.0.0.1:" + pg.Port + "/postgres?namespace=n&accept=fsync", "embed://" + urlPath(t.TempDir())} {
		got := call(t, nil, "", "init", "--yes", "--coordinator", to, "--after", from)
		wantCall(t, got, exitOK, "", "")
		wantCall(t, call(t, nil, "", "quarantine", "--yes", "--coordinator", to), exitOK, "the floor of", "")
		from = to
	}
	env["PASSWORD"] = "secret2"
	if got := do("workers"); got.code != exitFailure || strings.Contains(got.stderr, "secret") || !strings.Contains(got.stderr, "ann") {
		t.Errorf("with a wrong password: %+v", got)
	}
}
