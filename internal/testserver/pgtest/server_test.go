package pgtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// TestRestart: what was written is there after a crash.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	read := func(before string) (n int) {
		conn, err := pgx.Connect(t.Context(), s.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), "select n from t").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	read("create table t as select 7 as n")
	s.Kill()
	s.Restart(t)
	if n := read(""); n != 7 {
		t.Errorf("read %d", n)
	}
}

// TestTemporaryFolder: a server starts where the folder for temporary files has a long path and
// is closed to others.
func TestTemporaryFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	pgtest.Start(t)
}
