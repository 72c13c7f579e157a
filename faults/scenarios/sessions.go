package scenarios

import (
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/stage"
)

var sessions = []stage.Scenario{{
	Number: 18, Name: "lease-ended-alive", About: "the lease or the session of holders that are alive is ended: they keep their worker IDs, and nobody notices",
	Backends: []string{"etcd", "etcd3", "redis", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 8_000, Budget: time.Minute, Backends: []string{"etcd", "zk"}},
	Run:   runEndedSessions,
}}

// runEndedSessions ends the leases of two holders several times.
func runEndedSessions(s *stage.Stage) {
	workers := holders(s, "one", "two")
	for range s.Rounds(5, 2) {
		if n := endLeases(s, held(s, workers[0]), held(s, workers[1])); n < len(workers) {
			s.Errorf("%d leases were ended; there are %d holders", n, len(workers))
		}
		renewed(s, time.Now(), workers...)
		unmoved(s, workers...)
	}
	for _, w := range workers {
		keeps(s, w, held(s, w), 0)
	}
}

// endLeases ends the leases of worker IDs, and returns how many there were.
func endLeases(s *stage.Stage, workerIDs ...int) (ended int) {
	if b, ok := s.Backend.(backend.SessionEnder); ok {
		return b.EndSessions(s)
	}
	c := goredis.NewClient(&goredis.Options{Addr: s.Backend.Proxy().Addrs()[0]})
	defer c.Close()           // its work is done
	pages := map[string]int{} // of leases, and how many of the worker IDs each has
	for _, id := range workerIDs {
		pages[fmt.Sprint("l:", id/16)]++
	}
	for page, ids := range pages {
		n, err := c.HDel(s.Context(), slotsKey, page).Result()
		if err != nil {
			s.Fatal(err)
		}
		ended += int(n) * ids
	}
	return ended
}
