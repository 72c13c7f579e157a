package scenarios

import (
	"bytes"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

var late = []stage.Scenario{{
	Number: 6, Name: "frozen-mid-renewal", About: "SIGSTOP of a holder between a renewal and its reply, while another one takes its worker ID: the reply is worth what it was worth then",
	Backends: []string{"etcd", "etcd3", "redis", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   10_000, Recovery: resumeTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 4_000, Budget: time.Minute, Backends: []string{"etcd"}},
	Run:   runFrozenMidRenewal,
}, {
	Number: 10, Name: "replayed-acquire", About: "the request of an acquisition is sent a second time, when the worker ID has had another holder since: it is refused, and the first one leases anew",
	Backends: []string{"redis", "cluster"},
	MinIDs:   4_000, Recovery: replayTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 4_000, Budget: time.Minute, Backends: []string{"redis"}},
	Run:   runReplayedAcquire,
}, {
	Number: 10, Name: "late-acquire", About: "each request of an acquisition comes late, when the worker ID has another holder: nothing changes for that",
	Backends: []string{"etcd", "etcd3", "redis", "postgres", "mariadb", "kubernetes"},
	MinIDs:   6_000, Recovery: takeOverTime, Budget: 2 * time.Minute,
	Short: &stage.Short{MinIDs: 2_000, Budget: time.Minute, Backends: []string{"etcd"}},
	Run:   runLateAcquire,
}, {
	Number: 11, Name: "reordered-renewals", About: "a renewal comes after a later one, and its holder is cut off: the next holder begins after what the later one has got",
	Backends: []string{"etcd", "etcd3", "redis", "postgres", "mariadb", "kubernetes"},
	MinIDs:   6_000, Recovery: takeOverTime, Budget: 90 * time.Second,
	Short: &stage.Short{MinIDs: 6_000, Budget: time.Minute, Backends: []string{"redis"}},
	Run:   runReordered,
}}

// takeOverTime is how long a newcomer may take to its first ID if it wants the worker ID of a holder that is gone or
// cut off: the rest of the lease, which is shorter, or of the window.
const takeOverTime = stage.Horizon + stage.SkewBound + busyTime

// replyDelay is so long that a holder can be frozen while a reply is under way to it.
const replyDelay = time.Second

// runFrozenMidRenewal freezes a holder when a renewal was sent and its reply has not come: first for two TTLs, so
// that its window is still open when it goes on, and then for longer than the horizon.
func runFrozenMidRenewal(s *stage.Stage) {
	times := []time.Duration{2 * s.TTL(), stage.Horizon + s.TTL()}
	for _, d := range times[:s.Rounds(len(times), 1)] {
		g, way := apart(s, "frozen for "+d.String())
		w := s.Worker("frozen", g)
		had := held(s, w)
		s.AwaitIssued(w, issuedEach)
		way.DelayReplies(replyDelay)
		sent := way.Copy(s.Backend.IsCall) // which is not delivered
		caught(s, sent)
		s.Sleep(replyDelay / 4) // it is carried out
		w.Freeze(s)
		frozen, at := time.Now(), journal.Now()
		way.DelayReplies(0)
		next := s.Worker("next", wants(s, "next after "+d.String(), had))
		s.Sleep(d)
		thawed := journal.Now()
		w.Thaw(s)
		s.Recovered(thawed, w)
		s.AwaitIssued(next, issuedEach)
		s.AwaitIssued(w, w.Issued()+issuedEach)
		if newest := lastOf(s, w, had); newest.Sub(frozen) > stage.Horizon {
			s.Errorf("process %d was frozen at %v, and has issued an ID of %v with the worker ID that it had", w.PID(), frozen, newest)
		}
		s.Logf("it was frozen for %v; the newest ID with the old worker ID is of %v after it was",
			time.Duration(thawed-at).Round(time.Millisecond), lastOf(s, w, had).Sub(frozen))
		startedWell(s, next)
		w.Terminate(s)
		next.Terminate(s)
	}
}

// caught waits until a request was caught.
func caught(s *stage.Stage, h *proxytest.Held) {
	select {
	case <-h.Caught():
	case <-s.Context().Done():
		s.Fatal("no request was caught")
	}
}

// deliver sends a request that was caught.
func deliver(s *stage.Stage, h *proxytest.Held) {
	if err := h.Deliver(); err != nil {
		s.Fatalf("a request that was caught cannot be delivered: %v", err)
	}
}

// replayTime is how long a holder may take to lease anew if a request has taken its worker ID for nobody: until
// the lease and the window of that are over.
const replayTime = stage.Horizon + stage.SkewBound + busyTime

// patientSkew is an option for generators with which Redis does not refuse a request because of its age.
const patientSkew = "skew=25s"

// runReplayedAcquire sends the request with which a holder has acquired its worker ID once more.
func runReplayedAcquire(s *stage.Stage) {
	g := only(s, "first")
	g.URL = s.Backend.URL(patientSkew)
	s.Init(g.URL, "")
	// The server does not know the script when the first one comes, and refuses it.
	warmUp := s.Worker("warm-up", wants(s, "warm-up", 1))
	s.AwaitIssued(warmUp, issuedEach)
	warmUp.Terminate(s) // so that no renewal of it is caught
	acquired := s.Backend.Proxy().Copy(func(request []byte) bool {
		return s.Backend.IsCall(request) && bytes.Contains(request, []byte(`"write"`))
	})
	first := s.Worker("first", g)
	caught(s, acquired)
	s.AwaitIssued(first, issuedEach)
	first.Freeze(s)
	second := s.Worker("second", only(s, "second"))
	s.AwaitIssued(second, issuedEach)
	second.Kill()
	s.Sleep(s.TTL() + stage.SkewBound) // its lease has ended, and the window not
	deliver(s, acquired)
	delivered := journal.Now()
	if all := slots(s, s.TTL(), func(all []coord.Slot) bool { return len(all) > 0 }); len(all) != 0 {
		s.Errorf("the request was carried out a second time (%q): %+v", acquired.Answer(), all)
	}
	first.Thaw(s)
	s.AwaitEventSince(first, delivered, worker.Change, "")
	s.Recovered(delivered, first)
	s.AwaitIssued(first, first.Issued()+2*issuedEach)
}

// acquireCalls is how many calls an acquisition makes at most, of which one is kept until later in each round.
const acquireCalls = 3

// runLateAcquire keeps a request of an acquisition back until somebody else has the worker ID.
func runLateAcquire(s *stage.Stage) {
	s.Init(only(s, "first").URL, "")
	calls := acquireCalls
	for n := range s.Rounds(calls, 1) {
		if s.Short {
			n = calls - 1 // the request that changes most
		}
		var seen atomic.Int32
		kept := s.Backend.Proxy().Hold(func(request []byte) bool {
			return s.Backend.IsCall(request) && seen.Add(1) == int32(n+1)
		})
		g := only(s, "first")
		if s.Backend.Name() == "redis" {
			g.URL = s.Backend.URL(patientSkew)
		}
		first := s.Worker("first", g)
		s.AwaitIssued(first, issuedEach)
		caught(s, kept)
		s.Backend.Proxy().Heal() // no more is caught
		first.Kill()
		killed := journal.Now()
		second := s.Worker("second", only(s, "second"))
		s.Recovered(killed, second)
		s.AwaitIssued(second, issuedEach)
		deliver(s, kept)
		since := journal.Now()
		s.Sleep(s.TTL() + stage.RenewalTime) // in which a lease that was lost is noticed
		s.Logf("the answer to request %d is %.600q", n+1, kept.Answer())
		s.AwaitIssued(second, second.Issued()+issuedEach)
		keeps(s, second, held(s, second), since)
		startedWell(s, second)
		second.Terminate(s)
	}
}

// reorderedBy is how far renewals are apart whose order is changed. The windows differ by as much.
const reorderedBy = 2*stage.RenewalTime + stage.RenewalTime/2

// runReordered delivers a renewal after later ones, cuts the holder off, and has another one take its worker ID
// while the window of the first one lasts.
func runReordered(s *stage.Stage) {
	g, way := apart(s, "first")
	first := s.Worker("first", g)
	had := held(s, first)
	s.AwaitIssued(first, issuedEach)
	early := way.Hold(s.Backend.IsCall)
	caught(s, early)
	s.Sleep(reorderedBy)
	renewed(s, time.Now(), first)
	began := journal.Now()
	way.LoseRequests()
	cut := journal.Now()
	deliver(s, early)
	second := s.Worker("second", wants(s, "second", had))
	windowEnds(s, began, cut, first)
	s.Recovered(cut, second)
	s.AwaitIssued(second, issuedEach)
	s.AwaitIssued(second, 2*issuedEach)
	healed := journal.Now()
	way.Heal()
	s.Logf("the answer to the early renewal is %.600q", early.Answer())
	back(s, healed, first)
	startedWell(s, second)
}
