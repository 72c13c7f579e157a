package sqltest

import (
	"errors"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Resting checks that a process without a worker ID keeps no connection between two attempts to
// acquire one. Connections is a query that counts the connections of coordinators of a URL.
func Resting(d *Database, url, connections string) {
	open := func() coord.Coordinator {
		d.Helper()
		c, err := drivertest.Open(d, url+"namespace=ns")
		if err != nil {
			d.Fatal(err)
		}
		return c
	}
	want := func(what string, n int64) {
		d.Helper()
		streamtest.Eventually(d, what, func() bool { return d.Int("%s", connections) == n })
	}
	holder, waiter := open(), open()
	g := drivertest.MustAcquire(d, holder, drivertest.Request(1))
	for range 2 {
		_, err := waiter.Acquire(drivertest.Within(d), drivertest.Request(1))
		if !errors.Is(err, coord.ErrNoWorkerID) {
			d.Fatal(err)
		}
		want("the holder alone has a connection", 1)
	}
	if err := holder.Release(drivertest.Within(d), g, g.NotBefore); err != nil {
		d.Fatal(err)
	}
	want("no process has a connection", 0)
	drivertest.MustAcquire(d, waiter, drivertest.Request(1))
	want("the new holder alone has a connection", 1)
}
