package sqltest

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// Crowd lets as many holders start at once as there are worker IDs, over several coordinators:
// the first ever, when there are no tables yet, and later ones, in a namespace that is there. As
// tickets have each begin at another worker ID, hardly any of these makes more than three round
// trips.
func Crowd(t *testing.T, d *Database) {
	t.Helper()
	crowd(t, d, newName())
	ns := newName()
	c, _ := d.New(t, ns)
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	if trips := crowd(t, d, ns); trips > 7*drivertest.Capacity/2 {
		t.Errorf("%d starters make %d round trips; want 3 each, and few more", drivertest.Capacity, trips)
	}
}

// crowd returns how many round trips it took.
func crowd(t *testing.T, d *Database, namespace string) (trips int) {
	t.Helper()
	all := drivertest.Crowd[coord.Coordinator]{Namespace: namespace}
	var links []*Link
	for range 16 {
		c, l := d.New(t, namespace)
		links = append(links, l)
		all.Members = append(all.Members, c)
	}
	all.Starters(t)
	for _, l := range links {
		trips += l.Trips()
	}
	t.Logf("%d round trips", trips)
	return trips
}
