package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/mysql"
	"github.com/unalike-id/unalike/segment/postgres"
)

// segments are scenarios of processes that take plain numbers of one tag.
var segments = []stage.Scenario{{
	Name: "segments",
	About: "kill -9 of eight processes that take plain numbers of one tag, and now and then of" +
		" the servers until all in memory is used up, again and again, while replies are " +
		"lost: no number twice, and new ranges by themselves",
	Backends: []string{"etcd", "embedded", "postgres", "mariadb"}, Short: []string{"mariadb"},
	Recovery: segmentTime, Exclusive: true, Budget: 8 * time.Minute,
	Run: runSegments,
}}

const (
	// segmentTag is the tag of all of them.
	segmentTag = "faults"
	// segmentTime is how long it may take until there is a number again once the store can be
	// reached: it is tried again each half of a second, and each two seconds after a refusal.
	segmentTime = 2*time.Second + 2*busyTime
)

// storeURL is the store of segments of the stage's back end.
func storeURL(s *stage.Stage) string {
	u, err := driver.ParseURL(s.Backend.URL())
	if err != nil {
		s.Fatal(err)
	}
	if u.Scheme == "embed" {
		return "embed://" + u.Path + "?namespace=" + backend.Namespace
	}
	at := strings.Join(u.Hosts, ",")
	if u.User != nil {
		at = u.User.String() + "@" + at
	}
	return u.Scheme + "://" + at + u.Path
}

// createTag makes the table, if there is one, and the tag.
func createTag(s *stage.Stage) {
	switch {
	case s.On("postgres"):
		s.Backend.Exec(postgres.Schema(""))
	case s.On("mariadb"):
		s.Backend.Exec(mysql.Schema(""))
	}
	store, err := segment.Open(s.Context(), storeURL(s), segment.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	defer store.Close() // its work is done
	tag := segment.Tag{Name: segmentTag, Next: 1, Step: 1000}
	if err := store.(segment.Creator).Create(s.Context(), tag); err != nil {
		s.Fatal(err)
	}
}

// taker is one of several processes that take numbers: in the full set a million a second.
func taker(s *stage.Stage, i int) *worker.Worker {
	name := fmt.Sprint("taker-", i)
	return s.Worker(name, worker.Generator{
		Name: name, URL: storeURL(s), Segment: segmentTag, MaxStep: int64(s.Rounds(100_000, 5000)),
		PerSecond: s.Rounds(1_000_000, 20_000), Goroutines: 2, UntilClosed: true,
	})
}

// newRanges waits until all have taken more numbers than a process has in memory.
func newRanges(s *stage.Stage, all []*worker.Worker) {
	s.AwaitMore(3*uint64(all[0].Spec.Generators[0].MaxStep), all...)
}

// isTake matches the requests of which the outcome is not known if the reply is lost.
func isTake(request []byte) bool {
	text := strings.ToLower(string(request))
	return strings.Contains(text, "leaf_alloc") || strings.Contains(text, "commit") ||
		strings.Contains(text, "/unalike/segments/")
}

// runSegments kills processes and servers.
func runSegments(s *stage.Stage) {
	createTag(s)
	var all []*worker.Worker
	for i := range 8 {
		all = append(all, taker(s, i))
	}
	s.AwaitMore(issuedEach, all...)
	servers := len(s.Backend.Servers) > 0
	for round := range s.Rounds(48, 8) {
		i := round % len(all)
		if servers && round%2 == 1 {
			s.Backend.Way.Rob(isTake)
			robbed(s, s.Backend.Way, 2)
		}
		if round%4 == 1 {
			all[i].Terminate(s) // it gives back what it has left
		} else {
			all[i].Kill()
		}
		s.Backend.Way.Restore()
		ended := journal.Now()
		all[i] = taker(s, i)
		s.Recovered(ended, all[i])
		if servers && round%8 == 7 {
			s.Backend.Kill()
			s.AwaitEvent(all[0], journal.Now(), worker.Failed, segment.ErrUnavailable)
			s.Backend.Restart()
			s.Recovered(journal.Now(), all...)
		}
		newRanges(s, all[i:i+1])
	}
	newRanges(s, all)
}
