package mysql

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestCoordinator_AtItsLimits: with names, windows and holders at the limits, all calls work.
func TestCoordinator_AtItsLimits(t *testing.T) {
	t.Parallel()
	sqltest.Limits(database(t, mysqltest.Start(t), ""))
}

// TestGenerator_AllStripesHeavy: a generator with 1,024 stripes starts and renews each worker ID.
func TestGenerator_AllStripesHeavy(t *testing.T) {
	t.Parallel()
	drivertest.Stripes(t, database(t, mysqltest.Start(t), "").New("ns"), nil)
}
