package sqltest

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// Crowd lets as many holders start at once as there are worker IDs, over several coordinators.
func Crowd(t *testing.T, d *Database) {
	t.Helper()
	crowd := drivertest.Crowd[coord.Coordinator]{Namespace: newName()}
	var links []*Link
	for range 16 {
		c, l := d.New(t, crowd.Namespace)
		links = append(links, l)
		crowd.Members = append(crowd.Members, c)
	}
	crowd.Starters(t)
	trips := 0
	for _, l := range links {
		trips += l.Trips()
	}
	t.Logf("%d round trips", trips)
	c, _ := d.New(t, newName())
	drivertest.Contention(t, c)
}
