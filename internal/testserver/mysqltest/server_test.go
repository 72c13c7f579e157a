package mysqltest_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestRestart: what was written is there after a crash.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	db, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t AS SELECT 7 AS n"); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.Restart(t)
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n); err != nil || n != 7 {
		t.Errorf("read %d, %v", n, err)
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
	mysqltest.Start(t)
}
