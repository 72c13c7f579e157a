package sqltest

import (
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// Crowd lets as many holders start at once as there are worker IDs, over several coordinators:
// the first ever, when there are no tables yet, and later ones, in a namespace that is there. As
// tickets have each begin at another worker ID, hardly any of these makes more than three round
// trips.
func Crowd(t *testing.T, d *Database) {
	crowd(t, d, newName())
	ns := newName()
	if err := d.New(t, ns).Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	if trips := crowd(t, d, ns); trips > 7*drivertest.Capacity/2 {
		t.Errorf("%d starters make %d round trips; want 3 each, and few more", drivertest.Capacity, trips)
	}
}

// crowd returns how many round trips it took.
func crowd(t *testing.T, d *Database, namespace string) (trips int) {
	t.Helper()
	all := drivertest.Crowd[Participant]{Namespace: namespace}
	for range 16 {
		all.Members = append(all.Members, d.New(t, namespace))
	}
	all.Starters(t)
	for _, m := range all.Members {
		trips += m.Trips()
	}
	t.Logf("%d round trips", trips)
	return trips
}
