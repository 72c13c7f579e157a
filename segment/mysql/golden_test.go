package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
)

// TestGolden: the tables are those of version 0.1.0.
func TestGolden(t *testing.T) {
	t.Parallel()
	goldentest.Same(t, "schema.sql", dialect().Schema+";\n"+dialect().Meta+";\n")
}
