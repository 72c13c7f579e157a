package mysql

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestCrowd lets as many holders start at once as there are worker IDs, over several coordinators:
// the first ever, when there are no tables yet, and later ones, in a namespace that is there. As
// tickets have each begin at another worker ID, hardly any of these makes more than three round
// trips.
func TestCrowd(t *testing.T) {
	d := database(t, mysqltest.Start(t), "")
	crowd(t, d, rand.Text())
	ns := rand.Text()
	if err := d.New(ns).Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	if trips := crowd(t, d, ns); trips > 7*drivertest.Capacity/2 {
		t.Errorf("%d starters make %d round trips; want 3 each, and few more", drivertest.Capacity, trips)
	}
}

// crowd lets as many holders start at once as there are worker IDs, and returns how many round
// trips it took. All of them succeed, and one more is told when the next worker ID may become free,
// and when its holder was seen last.
func crowd(t *testing.T, d *sqltest.Database, namespace string) (trips int) {
	t.Helper()
	var all drivertest.Crowd[sqltest.Participant]
	for range 16 {
		all.Members = append(all.Members, d.New(namespace))
	}
	began := time.Now()
	all.Acquire(t, drivertest.Capacity, drivertest.Capacity)
	for _, m := range all.Members {
		trips += m.Trips()
	}
	t.Logf("%d starters: %v, %d round trips", drivertest.Capacity, time.Since(began), trips)

	_, err := all.Members[0].Acquire(drivertest.Within(t), drivertest.Request(drivertest.Capacity))
	full, ok := errors.AsType[*coord.NoWorkerIDError](err)
	if !ok {
		safetytest.Unless(t, err).Fatalf("one starter more: %v; want a NoWorkerIDError", err)
	}
	if full.Capacity != drivertest.Capacity || full.InUse != drivertest.Capacity ||
		full.Namespace != namespace {
		t.Errorf("one starter more: %#v; want all %d worker IDs of %s in use", full,
			drivertest.Capacity, namespace)
	}
	// The server has a clock of its own.
	const slack = 5 * time.Second
	between := func(what string, at time.Time, ttl time.Duration) {
		if at.Before(began.Add(ttl-slack)) || at.After(time.Now().Add(ttl+slack)) {
			t.Errorf("one starter more: %s at %v; the others have started since %v with a TTL of %v", what,
				at, began, drivertest.CrowdTTL)
		}
	}
	between("the next worker ID is free", full.Soonest, drivertest.CrowdTTL)
	between("its holder was seen last", full.LastSeen, 0)
	return trips
}
