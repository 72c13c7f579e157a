package mysql_test

import (
	"os"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

func TestMain(m *testing.M) {
	drivertest.HolderMain()
	os.Exit(m.Run())
}

var request, within = drivertest.Request, drivertest.Within
