package scenarios

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

// holders starts as many workers with a generator each, and waits until they have issued IDs.
func holders(s *stage.Stage, names ...string) []*worker.Worker {
	var all []*worker.Worker
	for i, name := range names {
		g := s.Generator(name)
		if i == 0 {
			s.Init(g.URL, "")
		}
		all = append(all, s.Worker(name, g))
	}
	for _, w := range all {
		s.AwaitIssued(w, issuedEach)
	}
	return all
}

// unmoved fails the stage if anything has happened to workers to which nothing may happen.
func unmoved(s *stage.Stage, workers ...*worker.Worker) {
	for _, w := range workers {
		s.AwaitIssued(w, w.Issued()+issuedEach)
	}
	healthy(s, workers...)
	s.Uninterrupted(silence)
}

// startedWell is healthy for a worker with one generator, from its start on: before that, it may have told that it
// waits for a worker ID.
func startedWell(s *stage.Stage, w *worker.Worker) {
	started := s.AwaitEvent(w, worker.Ready, "").At
	for _, e := range w.Events() {
		if e.At > started && (e.Kind == worker.Failed || e.Kind == worker.Change && !e.Healthy) {
			s.Errorf("process %d told of %s: %s", w.PID(), e.Kind, e.Text)
		}
	}
}

// windowEnds waits until each worker, which has one generator, has told that its window has ended, because no
// renewal gets through since a moment between began and cut, see journal.Now. It checks when that was.
func windowEnds(s *stage.Stage, began, cut int64, workers ...*worker.Worker) {
	for _, w := range workers {
		e := s.AwaitEventSince(w, began, worker.Change, worker.WindowEnded)
		s.Logf("%v after the last renewals, process %d: %s", time.Duration(e.At-cut).Round(time.Millisecond), w.PID(), e.Text)
		if took := time.Duration(e.At - began); took < s.Horizon()-stage.RenewalTime-stage.SkewBound-busyTime {
			s.Errorf("the window of process %d ended %v after the last renewals; its horizon is %v", w.PID(), took, s.Horizon())
		}
		if took := time.Duration(e.At - cut); took > s.Horizon()+stage.SkewBound+busyTime {
			s.Errorf("the window of process %d ended no earlier than %v after the last renewals; its horizon is %v", w.PID(), took, s.Horizon())
		}
	}
}

// quiet waits for a time, in which workers whose windows have ended may not issue anything, and returns when the
// newest of their IDs was issued.
func quiet(s *stage.Stage, d time.Duration, workers ...*worker.Worker) (last int64) {
	settle := min(d/2, settleTime)
	s.Sleep(settle)
	before := make([]uint64, len(workers))
	for i, w := range workers {
		before[i], last = w.Issued(), max(last, w.Last())
	}
	s.Sleep(d - settle)
	for i, w := range workers {
		if n := w.Issued() - before[i]; n > 0 {
			s.Errorf("process %d has issued %d IDs in a time in which no window was open", w.PID(), n)
		}
	}
	return last
}

// quietTime is for quiet, where nothing else says how long to wait.
const quietTime = time.Second

// back waits until each worker issues IDs again, and goes on.
func back(s *stage.Stage, since int64, workers ...*worker.Worker) {
	for _, w := range workers {
		s.Recovered(since, w)
	}
	for _, w := range workers {
		s.AwaitIssued(w, w.Issued()+issuedEach)
	}
}

// workerIDs returns the worker IDs with which a worker has issued IDs at or after a moment, see journal.Now.
func workerIDs(s *stage.Stage, w *worker.Worker, since int64) (all []int) {
	for _, path := range w.Journals() {
		r, err := journal.Open(path)
		if err != nil {
			s.Fatal(err)
		}
		for run := range r.Runs() {
			if id := r.Header().Layout.Decompose(run.First).WorkerID; run.To >= since && !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
		_ = r.Close() // it was only read
	}
	return all
}

// keeps fails the stage if a worker has issued IDs with other worker IDs than the given one since a moment.
func keeps(s *stage.Stage, w *worker.Worker, held int, since int64) {
	if ids := workerIDs(s, w, since); !slices.Equal(ids, []int{held}) {
		s.Errorf("process %d issues with worker IDs %v; it should have kept %d", w.PID(), ids, held)
	}
}

// held returns the worker ID that a worker with one generator has got when it has started.
func held(s *stage.Stage, w *worker.Worker) int { return s.AwaitEvent(w, worker.Ready, "").Workers[0] }

// wants returns a generator that takes a certain worker ID, and no other.
func wants(s *stage.Stage, name string, workerID int) worker.Generator {
	g := s.Generator(name)
	g.First, g.Count = workerID, 1
	return g
}

// apart returns a generator that reaches the servers on a way of its own, through a proxy for it alone, which
// faults can be given without others noticing. It is not for a Cluster, whose nodes tell clients where they are.
func apart(s *stage.Stage, name string) (worker.Generator, *proxy.Proxy) {
	p := proxy.Start(s, s.Backend.Proxy().Addrs()...)
	g := s.Generator(name)
	g.URL = elsewhere(s, g.URL, p.Addrs()...)
	return g, p
}

// elsewhere returns a URL with the given addresses instead of those of all servers.
func elsewhere(s *stage.Stage, url string, addrs ...string) string {
	return strings.Replace(url, strings.Join(s.Backend.Proxy().Addrs(), ","), strings.Join(addrs, ","), 1)
}

// slots asks the coordinator which worker IDs are held until that satisfies ok, for as long as limit, and returns
// what it has said last.
func slots(s *stage.Stage, limit time.Duration, ok func([]coord.Slot) bool) (all []coord.Slot) {
	c, err := coord.Open(s.Context(), s.Backend.URL("ttl="+stage.TTLKeeper.String()), coord.OpenOptions{}) // which does not wait long for a server
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close() // its work is done
	list, can := c.(coord.Admin)
	if !can {
		s.Fatalf("%s cannot list its worker IDs", s.Backend.Name())
	}
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	defer cancel()
	for {
		// One call may fail, or take as long as there is time: what it has said last counts.
		if now, err := list.List(ctx); err == nil {
			all = slices.DeleteFunc(now, func(slot coord.Slot) bool { return slot.State != coord.SlotHeld })
		} else {
			s.Logf("the worker IDs cannot be listed: %v", err)
		}
		if ok(all) || ctx.Err() != nil {
			return all
		}
		s.Sleep(20 * time.Millisecond)
	}
}

// renewed waits until the windows of all workers, which have one generator, were extended by a request that was made
// after a moment: to a horizon from then. It fails the stage if that takes longer than a holder may take to notice
// that its servers serve again.
func renewed(s *stage.Stage, since time.Time, workers ...*worker.Worker) {
	for _, w := range workers {
		renewedWithin(s, since, resumeTime, w)
	}
}

// renewedWithin is renewed for one worker, and another limit.
func renewedWithin(s *stage.Stage, since time.Time, limit time.Duration, w *worker.Worker) {
	id, horizon := held(s, w), w.Spec.Generators[0].Horizon
	var asked time.Time
	slots(s, max(limit-time.Since(since), time.Second), func(all []coord.Slot) bool {
		for _, slot := range all {
			if slot.WorkerID == id {
				asked = slot.Until.Add(-horizon)
			}
		}
		return asked.After(since)
	})
	if took := asked.Sub(since); took <= 0 || took > limit {
		s.Errorf("the last renewal of process %d was asked for %v after the fault had ended; at most %v is allowed", w.PID(), took, limit)
	} else {
		s.Logf("a renewal of process %d was asked for %v after the fault had ended", w.PID(), took.Round(time.Millisecond))
	}
}

// lastOf returns the time in the newest ID that a worker has issued with a worker ID.
func lastOf(s *stage.Stage, w *worker.Worker, workerID int) (newest time.Time) {
	for _, path := range w.Journals() {
		r, err := journal.Open(path)
		if err != nil {
			s.Fatal(err)
		}
		for run := range r.Runs() {
			p := r.Header().Layout.Decompose(run.First + core.ID(run.Count-1))
			if p.WorkerID == workerID && p.Time.After(newest) {
				newest = p.Time
			}
		}
		_ = r.Close() // it was only read
	}
	return newest
}
