package scenarios

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
)

var powerFailures = []stage.Scenario{{
	Number: 37, Name: "power-failure", About: "kill -9 of all holders and all servers at once, which are started again: IDs as soon as the leases of the dead have ended",
	Backends: []string{"etcd", "etcd3", "embedded", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   10_000, Recovery: powerTime, Budget: 2 * time.Minute,
	Short: &stage.Short{MinIDs: 5_000, Budget: time.Minute, Backends: []string{"etcd", "embedded"}},
	Run:   func(s *stage.Stage) { runPowerFailure(s, false) },
}, {
	Number: 37, Name: "redis-power-failure", About: "the same with Redis: a quarantine after it serves again, no more and no less",
	Backends: []string{"redis", "sentinel", "cluster"},
	MinIDs:   10_000, Recovery: quarantineTime, Budget: 2 * time.Minute,
	Run: func(s *stage.Stage) { runPowerFailure(s, true) },
}}

// powerTime is how long holders that start together with the servers may take to their first ID: their clocks are
// compared with those of dead holders until the leases have ended, which takes one TTL and 5 s at the most.
const powerTime = stage.TTLKeeper + 5*time.Second + busyTime

// runPowerFailure kills everything and starts it again, as often as the time allows.
func runPowerFailure(s *stage.Stage, quarantine bool) {
	workers := holders(s, "one", "two", "three")
	for i := range s.Rounds(2, 1) {
		began := journal.Now()
		for _, w := range workers {
			w.Kill()
		}
		s.Backend.Kill(s)
		s.Backend.Restart(s)
		served := journal.Now()
		workers = nil
		for n := range 3 {
			name := fmt.Sprintf("again-%d-%d", i, n)
			workers = append(workers, s.Worker(name, s.Generator(name)))
		}
		if quarantine {
			s.Excuse(began, served+int64(quarantineTime))
		} else {
			s.Excuse(began, served+int64(powerTime))
		}
		if quarantine {
			resumed(s, began, served, forgottenTime, workers...)
		} else {
			back(s, served, workers...)
		}
	}
	s.Uninterrupted(silence)
}
