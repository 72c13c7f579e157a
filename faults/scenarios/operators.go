package scenarios

import (
	"errors"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var operators = []stage.Scenario{{
	Number: 38, Name: "operators", About: "operators declare the namespace new again, retire a worker ID that is in use and raise the floor while generators run: refused, another worker ID, and IDs when the floor is passed",
	Backends: []string{"etcd", "etcd3", "embedded", "redis", "sentinel", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   10_000, Recovery: resumeTime, Budget: 90 * time.Second,
	Rules: []history.Rule{history.LeasesLost}, // worker IDs are retired by somebody who is not recorded
	Run:   runOperators,
}}

// floorTime is how far ahead the operator puts the floor: holders have no window left before it is passed.
const floorTime = stage.Horizon + stage.SkewBound + 2*busyTime

// runOperators does what operators can do beside running generators.
func runOperators(s *stage.Stage) {
	workers := holders(s, "one", "two")
	a := admin(s)
	refusedInit(s, a)
	unmoved(s, workers...)
	retireInUse(s, a, workers[0])
	refusedInit(s, a)

	began := journal.Now()
	floor, err := a.Quarantine(s.Context(), time.Now().Add(floorTime))
	if err != nil {
		s.Fatal(err)
	}
	if again, err := a.Quarantine(s.Context(), time.Now()); err != nil || !again.Equal(floor) {
		s.Errorf("a quarantine until now, while there is one until %v: %v, %v; want no change", floor, again, err)
	}
	newcomer := s.Worker("newcomer", s.Generator("newcomer"))
	workers = append(workers, newcomer)
	for _, w := range workers[:2] {
		e := s.AwaitEventSince(w, began, worker.Failed, "") // the piece above the floor may be there already
		s.Logf("process %d: %s", w.PID(), e.Text)
	}
	refusedInit(s, a)
	stood, passed := journal.Now(), journal.Now()+int64(time.Until(floor))
	s.Sleep(time.Until(floor))
	s.Excuse(began, passed+int64(resumeTime))
	back(s, passed, workers...)
	silent(s, stood+int64(settleTime), passed, workers...)
	s.Uninterrupted(silence)
}

// refusedInit declares the namespace new, which it is not.
func refusedInit(s *stage.Stage, a coord.Admin) {
	if err := a.Init(s.Context(), core.DefaultLayout().Space()); !errors.Is(err, coord.ErrInvalid) {
		s.Errorf("a namespace in use was declared new: %v; want it refused", err)
	} else {
		s.Logf("refused: %v", err)
	}
}

// retireInUse retires the worker ID of a worker, which must go on with another one.
func retireInUse(s *stage.Stage, a coord.Admin, w *worker.Worker) {
	had := held(s, w)
	since := journal.Now()
	for range 2 { // the second time is no error
		if err := a.Retire(s.Context(), had); err != nil {
			s.Fatal(err)
		}
	}
	e := s.AwaitEventSince(w, since, worker.Change, "")
	for !e.Healthy || slices.Contains(e.Workers, had) {
		e = s.AwaitEventSince(w, e.At+1, worker.Change, "")
	}
	s.Logf("%v after worker ID %d was retired, its holder has %v", time.Duration(e.At-since).Round(time.Millisecond), had, e.Workers)
	if took := time.Duration(e.At - since); took > stage.RenewalTime+resumeTime {
		s.Errorf("the holder of a retired worker ID took %v to get another one; at most %v is allowed", took, stage.RenewalTime+resumeTime)
	}
	s.AwaitIssued(w, w.Issued()+issuedEach)
	moved := journal.Now()
	s.AwaitIssued(w, w.Issued()+issuedEach)
	if ids := workerIDs(s, w, moved); slices.Contains(ids, had) {
		s.Errorf("process %d issues with worker IDs %v; %d is retired", w.PID(), ids, had)
	}
	g := s.Generator("refused")
	g.First, g.Count = had, 1
	refused := s.Worker("refused", g)
	r := s.AwaitEvent(refused, worker.Failed, worker.NoWorkerID)
	s.Logf("refused: %s", r.Text)
	refused.Kill()
	if n := refused.Issued(); n > 0 {
		s.Errorf("%d IDs were issued with a worker ID that is retired", n)
	}
}
