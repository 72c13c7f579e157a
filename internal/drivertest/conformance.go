package drivertest

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
)

// Operator is a coordinator, as all drivers have it.
type Operator interface {
	coord.Coordinator
	coord.AdminCoordinator
}

// Driver is how [Conformance] uses a back end.
type Driver struct {
	// Open returns a participant in a namespace, which is closed with tb.
	Open func(tb testing.TB, namespace string) Operator
	// Expire ends the lease of whoever holds a worker ID in a namespace, if anybody does.
	Expire func(tb testing.TB, namespace string, worker int)
}

// Conformance holds a driver to the rules of package coord, and checks that a generator keeps its
// worker ID after small steps of its clock. Begin is called for each case.
func Conformance(t *testing.T, begin func(tb testing.TB) Driver) {
	harness := func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		return begin(tb).Harness(rand.Text())
	}
	t.Run("holders", func(t *testing.T) { coordtest.Run(t, harness) })
	t.Run("operators", func(t *testing.T) { coordtest.RunAdmin(t, harness) })
	t.Run("steps back", func(t *testing.T) {
		t.Parallel()
		StepsBack(t, begin(t).Open(t, rand.Text()))
	})
}

// Harness connects the suites of coordinators with a namespace.
func (d Driver) Harness(ns string) coordtest.Harness {
	of := func(ns string) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return d.Open(tb, ns)
		}
	}
	return coordtest.Harness{
		Client: of(ns), OtherNamespace: of(rand.Text()),
		Expire: func(tb testing.TB, g coord.Grant) { tb.Helper(); d.Expire(tb, ns, g.WorkerID) },
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			RaiseFloor(tb, d.Open(tb, ns), tick)
		},
		Sticky: true,
	}
}
