package etcd_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

func TestMain(m *testing.M) {
	etcdtest.Main()
	drivertest.HolderMain()
	leaktest.Main(m)
}

const (
	callTime = drivertest.CallTime
	layout   = drivertest.Layout
	capacity = drivertest.Capacity
	lastTick = drivertest.LastTick
)

var (
	scale, space, tickNow = drivertest.Scale, drivertest.Space, drivertest.TickNow
	request, within       = drivertest.Request, drivertest.Within
	hurried               = drivertest.Hurried
	mustAcquire, open, at = drivertest.MustAcquire, drivertest.Open, drivertest.At
)
