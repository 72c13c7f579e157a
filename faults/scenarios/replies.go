package scenarios

import (
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var replies = []stage.Scenario{{
	Number: 7, Name: "lost-reply-to-acquire", About: "replies to an acquisition are lost, all, every second, every third: one worker ID is held, and what leaks is free after a TTL",
	Backends: []string{"etcd", "etcd3", "redis", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   9_000, Recovery: acquireTime, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 9_000, Budget: time.Minute, Backends: []string{"etcd", "zk", "kubernetes"}},
	Run:   runLostAcquires,
}, {
	Number: 8, Name: "lost-replies-to-renewals", About: "every second reply to a renewal is lost: nobody notices",
	Backends: []string{"etcd", "etcd3", "redis", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   20_000, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 10_000, Budget: time.Minute, Backends: []string{"redis"}},
	Run:   runLostRenewals,
}, {
	Number: 9, Name: "lost-reply-to-release", About: "the reply to a release is lost: the worker ID is back after a TTL",
	Backends: []string{"etcd", "etcd3", "redis", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   5_000, Recovery: releaseTime, Budget: time.Minute,
	Short: &stage.Short{MinIDs: 1_500, Budget: time.Minute, Backends: []string{"redis", "zk"}},
	Run:   runLostReleases,
}}

// acquireTime is how long a generator may take to its first ID once replies arrive: an acquisition is tried again
// once in a renewal interval, and a worker ID that has leaked is no obstacle.
const acquireTime = 2*time.Second + busyTime

// awaitLost waits until n more replies were lost.
func awaitLost(s *stage.Stage, n int) {
	for lost := s.Backend.Proxy().AcksLost(); s.Backend.Proxy().AcksLost() < lost+n; {
		s.Sleep(5 * time.Millisecond)
	}
}

// runLostAcquires starts generators while replies are lost.
func runLostAcquires(s *stage.Stage) {
	p := s.Backend.Proxy()
	s.Init(s.Generator("first").URL, "")
	var workers []*worker.Worker
	for i, every := range []int{1, 2, 3} {
		s.Logf("one of %d replies is lost", every)
		p.LoseAcks(every, s.Backend.IsCall)
		w := s.Worker("holder", s.Generator("holder"))
		workers = append(workers, w)
		awaitLost(s, 1)
		if every == 1 {
			awaitLost(s, 2)
		}
		p.Heal()
		healed := journal.Now()
		s.Recovered(healed, w)
		all := slots(s, s.TTL()+busyTime, func(all []coord.Slot) bool { return len(all) == i+1 })
		if len(all) != i+1 {
			s.Errorf("%d worker IDs are held after a TTL, by %d generators: %+v", len(all), i+1, all)
		}
		s.Logf("%v after replies arrive, %d worker IDs are held", time.Duration(journal.Now()-healed).Round(time.Millisecond), len(all))
	}
	for _, w := range workers {
		s.AwaitIssued(w, w.Issued()+3*issuedEach)
		startedWell(s, w)
	}
}

// runLostRenewals has two generators renew while every second reply is lost.
func runLostRenewals(s *stage.Stage) {
	p := s.Backend.Proxy()
	workers := holders(s, "one", "two")
	p.LoseAcks(2, s.Backend.IsCall)
	began := p.AcksLost()
	s.Sleep(time.Duration(s.Rounds(3, 1)) * stage.Horizon)
	awaitLost(s, 1)
	s.Logf("%d replies were lost", p.AcksLost()-began)
	unmoved(s, workers...)
	p.Heal()
	renewed(s, time.Now(), workers...)
	unmoved(s, workers...)
	for _, w := range workers {
		keeps(s, w, held(s, w), 0)
	}
}

// releaseTime is how long the next holder of a worker ID may take to its first ID after the last one has begun to
// release it, and was not told that this was done. It was, and the window is trimmed; if not, the lease ends.
const releaseTime = stage.TTLKeeper + busyTime

// runLostReleases ends holders whose release is not answered.
func runLostReleases(s *stage.Stage) {
	p := s.Backend.Proxy()
	g := only(s, "holder")
	s.Init(g.URL, "")
	for range s.Rounds(3, 1) {
		w := s.Worker("holder", g)
		s.AwaitIssued(w, issuedEach)
		released := journal.Now()
		p.LoseAcks(1, s.Backend.IsCall)
		go w.Terminate(s)
		awaitLost(s, 1)
		p.Heal()
		next := s.Worker("next", g)
		s.Recovered(released, next)
		s.AwaitIssued(next, issuedEach)
		startedWell(s, next)
		e := s.AwaitEvent(w, worker.Closed, "")
		s.Logf("the holder has closed: %q", e.Text)
		<-w.Done()
		next.Terminate(s)
	}
}
