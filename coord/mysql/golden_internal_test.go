package mysql

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
)

// TestGolden: the tables are those of version 0.1.0; what is in their rows is golden in package
// protocol.
func TestGolden(t *testing.T) {
	t.Parallel()
	goldentest.Same(t, "schema.sql", strings.Join(dialect().Schema, ";\n")+";\n")
}
