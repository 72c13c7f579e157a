package mysql_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

var request, within = drivertest.Request, drivertest.Within
