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

const capacity = drivertest.Capacity

var (
	scale, space, tickNow = drivertest.Scale, drivertest.Space, drivertest.TickNow
	request, within       = drivertest.Request, drivertest.Within
	mustAcquire, open     = drivertest.MustAcquire, drivertest.Open
)
