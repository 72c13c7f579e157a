package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/internal/golden"
)

// TestGolden: the tables are those of version 0.1.0.
func TestGolden(t *testing.T) {
	t.Parallel()
	golden.Same(t, "schema.sql", dialect().Schema+";\n"+dialect().Meta+";\n")
}
