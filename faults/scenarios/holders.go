package scenarios

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// holders starts as many workers with a generator each on a back end, and waits until they have
// issued IDs.
func holders(s *stage.Stage, b *backend.Backend, names ...string) (all []*worker.Worker) {
	for _, name := range names {
		all = append(all, s.Worker(name, s.GeneratorOn(b, name)))
	}
	s.AwaitMore(issuedEach, all...)
	return all
}

// elsewhere returns a URL with another way to all servers, if there is one, which faults can be
// given without others noticing. It is not for a Cluster, whose nodes tell clients where they are.
func elsewhere(b *backend.Backend, url string, way backend.Way) string {
	for i, p := range way {
		url = strings.ReplaceAll(url, b.Way[i].Addr, p.Addr)
	}
	return url
}

// held returns the worker ID that a worker with one generator has got when it has started.
func held(s *stage.Stage, w *worker.Worker) int {
	return s.AwaitEvent(w, 0, worker.Ready, nil).Workers[0]
}

// well fails the stage if a worker has told of an error, or that it could not issue, since its
// generator had its worker ID: before that, it may have told that it waits for one.
func well(s *stage.Stage, workers ...*worker.Worker) {
	for _, w := range workers {
		started := s.AwaitEvent(w, 0, worker.Ready, nil).At
		for _, e := range w.Events() {
			if e.At > started && (e.Kind == worker.Failed || e.Kind == worker.Change && !e.Healthy) {
				s.Errorf("process %d told of %s of generator %s: %s", w.PID(), e.Kind, e.Generator, e.Text)
			}
		}
	}
}

// back waits until each worker issues IDs again, and goes on.
func back(s *stage.Stage, since int64, workers ...*worker.Worker) {
	s.Recovered(since, workers...)
	s.AwaitMore(issuedEach, workers...)
}

// windowEnds waits until each worker, which has one generator, has told that its window has ended,
// because no renewal gets through since a moment between began and cut, see journal.Now. It checks
// when that was.
func windowEnds(s *stage.Stage, began, cut int64, workers ...*worker.Worker) {
	for _, w := range workers {
		e := s.AwaitEvent(w, began, worker.Change, core.ErrWindowEnded)
		s.Logf("%v after the last renewals, process %d: %s", time.Duration(e.At-cut), w.PID(), e.Text)
		h := w.Spec.Generators[0].Horizon
		if least := h - stage.RenewalTime - stage.SkewBound - busyTime; e.At-began < int64(least) {
			s.Errorf("the window of process %d ended %v after the last renewals; its horizon is %v", w.PID(),
				time.Duration(e.At-began), h)
		}
		if most := h + stage.SkewBound + busyTime; e.At-cut > int64(most) {
			s.Errorf("the window of process %d ended no earlier than %v after the last renewals; its "+
				"horizon is %v", w.PID(), time.Duration(e.At-cut), h)
		}
	}
}

// quiet waits for a moment, in which workers whose windows have ended may not issue anything, and
// returns when the newest of their IDs was issued.
func quiet(s *stage.Stage, workers ...*worker.Worker) (last int64) {
	s.Sleep(quietTime / 2)
	from := journal.Now()
	s.Sleep(quietTime / 2)
	silent(s, from, journal.Now(), workers...)
	for _, w := range workers {
		last = max(last, w.Last())
	}
	return last
}

// silent fails the stage if workers have written down IDs between two moments, see journal.Now. It
// looks back, so that a machine that is slow to look changes nothing.
func silent(s *stage.Stage, from, to int64, workers ...*worker.Worker) {
	for _, w := range workers {
		n := int64(0)
		for run := range s.Runs(w) {
			if run.At > from && run.At < to {
				n += run.Count
			}
		}
		if n > 0 {
			safetytest.Of(s).Errorf("process %d has issued %d IDs in %v in which it had no window", w.PID(),
				n, time.Duration(to-from))
		}
	}
}

// firstAfter returns when a worker has written down its first IDs after a moment.
func firstAfter(s *stage.Stage, w *worker.Worker, since int64) int64 {
	first := journal.Now()
	for run := range s.Runs(w) {
		if run.At > since {
			first = min(first, run.At)
		}
	}
	return first
}

// keeps fails the stage if a worker has issued IDs with other worker IDs than the given one since a
// moment.
func keeps(s *stage.Stage, w *worker.Worker, held int, since int64) {
	for run := range s.Runs(w) {
		id := core.DefaultLayout().Decompose(run.First).WorkerID
		if run.At >= since && id != held {
			s.Errorf("process %d has issued IDs with worker ID %d; it should have kept %d", w.PID(), id,
				held)
			return
		}
	}
}

// movesOn waits until a worker has another worker ID than the one that it had, and issues with it
// alone.
func movesOn(s *stage.Stage, w *worker.Worker, had int, since int64) {
	e := s.AwaitMatch(w, "another worker ID", func(e worker.Event) bool {
		return e.At >= since && e.Kind == worker.Change && e.Healthy && !slices.Contains(e.Workers, had)
	})
	s.AwaitMore(issuedEach, w)
	keeps(s, w, e.Workers[0], e.At+int64(quietTime/2))
}

// opened returns the coordinator of a URL, which the caller closes.
func opened(s *stage.Stage, url string) coord.Coordinator {
	c, err := coord.Open(s.Context(), url, coord.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// slots asks the coordinator which worker IDs are held until that satisfies ok, for as long as
// limit, and returns what it has said last.
func slots(s *stage.Stage, limit time.Duration, ok func([]coord.Slot) bool) (all []coord.Slot) {
	// which does not wait long for a server
	c := opened(s, s.Backend.URL("ttl="+stage.TTLKeeper.String()))
	defer c.Close()
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	defer cancel()
	for {
		// One call may fail, or take as long as there is time: what it has said last counts.
		if now, err := c.(coord.AdminCoordinator).List(ctx); err == nil {
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

// renewed waits until the windows of all workers, which have one generator, were extended by a
// request that was made after a moment: to a horizon from then. It fails the stage if that takes
// longer than limit.
func renewed(s *stage.Stage, since time.Time, limit time.Duration, workers ...*worker.Worker) {
	for _, w := range workers {
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
			s.Errorf("the last renewal of process %d was asked for %v after the fault had ended; at most "+
				"%v is allowed", w.PID(), took, limit)
		}
	}
}
