package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
)

// plot is mishaps that come one after the other, which they hardly ever do by chance.
// Everything else goes on meanwhile.
type plot []scene

// scene is one of them.
type scene struct {
	when func() bool // it comes at once if this is so, or never; nil: it comes some time
	do   func()
}

// attempts is for how many steps a plot waits for a scene.
const attempts = 400

// play plays the next scene, if it is time for that.
func (w *world) play() {
	switch next := w.plot[0]; {
	case next.when == nil && w.rng.IntN(20) > 0, next.when != nil && !next.when() &&
		w.waited < attempts:
		w.waited++
	case w.waited >= attempts:
		w.rejoin()
		w.plot, w.waited = nil, 0
	default:
		w.plot, w.waited = w.plot[1:], 0
		next.do()
		if len(w.plot) == 0 {
			w.Plots++
		}
	}
}

// begin begins a plot.
func (w *world) begin() {
	switch w.rng.IntN(7) {
	case 0:
		w.plot = w.lostGrant(w.someone())
	case 1:
		w.plot = w.lostAgain(w.procs[w.rng.IntN(len(w.procs))])
	case 2:
		w.plot = w.generationAgain(w.someone())
	case 3:
		w.plot = w.moved(w.procs[w.rng.IntN(len(w.procs))])
	case 4:
		w.plot = w.released(w.someone())
	case 5:
		w.plot = w.inherited(w.someone())
	case 6:
		w.delay()
	}
}

// delay begins a plot in which requests or answers are late.
func (w *world) delay() {
	a, other := w.someone(), w.someone()
	if w.plot = w.lateRequest(a, other); w.rng.IntN(2) == 0 {
		w.plot = w.lateAnswer(a, other)
	}
}

// slows has the network hold back the next request of an actor, or its next answer.
func (w *world) slows(a *actor, answers bool) {
	w.note(fmt.Sprintf("slow: %d, its answer: %t", a.id, answers))
	a.patient.Store(true)
	w.slow = a
	w.slowAnswers = answers
}

// isSlow reports whether the network holds something of an actor back.
func (w *world) isSlow(a *actor) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.parked, func(p *parcel) bool {
		return p.from == a && p.due.After(time.Now())
	})
}

// renewedSince reports whether an actor has renewed since the newest backup, and holds what it did.
func (w *world) renewedSince(a *actor) bool {
	return a.g.Token != "" && !a.given && w.holds(a) && a.confirmed.After(w.kept[len(w.kept)-1].at)
}

// ahead sets the clock of an actor far ahead, which a back end with a clock does not mind: the
// actor stamps each window to its end, and asks for the longest one.
func (w *world) ahead(a *actor) {
	if w.server.Clock != nil && a.p != w.procs[0] { // of which one is right
		a.p.clock.set(time.Hour)
	}
}

// loseWith ends all processes but one, that of an actor among them, and then the back end goes
// back: another actor can have what this one held. The process that lives is the first that comes
// after the loss, if it can be, and raises the floor alone.
func (w *world) loseWith(a *actor, lives *process) {
	w.note(fmt.Sprintf("dies: %d, and all but process %d", a.id, lives.id))
	id := a.g.WorkerID
	for _, p := range w.procs {
		if p != lives {
			p.end(p.coordinator())
			w.wait()
		}
	}
	w.lose(newestBackup, lives)
	if w.survivor == nil { // else newcomers wait for a holder that is gone, and so for the survivor
		w.expire(id)
	}
}

// spent reports whether an actor has renewed since the newest backup, and has stamped all of its
// window.
func (w *world) spent(a *actor) bool { return w.renewedSince(a) && a.last >= a.g.NotAfter }

// lateRequest: a holder has renewed by a request that took long. By its answer the holder's process
// tells the time when it renews again, and that is lost. Somebody else has the worker ID then.
func (w *world) lateRequest(a, witness *actor) plot {
	for witness.p == a.p {
		witness = w.someone()
	}
	return plot{
		{
			when: func() bool { return a.g.Token != "" && w.holds(a) },
			do: func() {
				w.mu.Lock() // the answers to others of the process would tell the time better
				w.cut = func(b *actor) bool { return b.p == a.p && b != a }
				w.mu.Unlock()
				w.ahead(a)
				w.slows(a, false)
			},
		},
		{when: func() bool { return w.isSlow(a) }, do: w.keep},
		{when: func() bool { return !w.isSlow(a) && w.renewedSince(a) }, do: w.keep},
		{when: func() bool { return w.spent(a) }, do: func() { w.loseWith(a, witness.p) }},
		{do: w.rejoin},
	}
}

// lateAnswer: the answer to a request of an actor is still under way when its process deals with
// the loss of what another holder was granted. Somebody else has the worker ID then.
func (w *world) lateAnswer(a, other *actor) plot {
	for other.p == a.p {
		other = w.someone()
	}
	return plot{
		{
			when: func() bool { return other.g.Token != "" && w.holds(other) },
			do:   func() { w.ahead(other); w.slows(a, true) },
		},
		{when: func() bool { return w.isSlow(a) }, do: w.keep},
		{
			when: func() bool { return w.isSlow(a) && w.spent(other) },
			do:   func() { w.loseWith(other, a.p) },
		},
		{do: w.rejoin},
	}
}

// lostGrant: while a holder rests, somebody else is granted what it holds, and that is
// lost. Its renewal is the first request after that.
func (w *world) lostGrant(a *actor) plot {
	id, mate, number := a.g.WorkerID, w.actors[a.p.id*each+(a.id+1)%each], int64(0)
	return plot{
		{do: func() { a.pause(true) }},
		{when: a.rests, do: func() { w.keep(); w.expire(id); number = w.server.State().Number }},
		{
			when: func() bool {
				return w.slot(id).Generation > a.g.Generation && a.p.observe().number > number+workers
			},
			do: func() { mate.pause(true) },
		},
		{when: mate.rests, do: func() { a.pause(false); w.lose(newestBackup, a.p) }},
		{do: w.rejoin},
	}
}

// lostAgain: a backup holds the record of an older loss, of which a process has not heard, and
// clocks are as far apart as they may be.
func (w *world) lostAgain(p *process) plot {
	off := w.skew / 2
	return plot{
		{do: func() {
			for _, other := range w.procs {
				other.clock.set(off)
			}
			p.clock.set(-off)
			w.cutOff(w.actors[p.id*each], true)
			w.declareLoss(true)
			w.keep()
			w.rejoin()
		}},
		{
			when: func() bool {
				floor := w.server.Meta().Floor
				return slices.ContainsFunc(w.actors, func(a *actor) bool {
					return len(a.pieces) > 0 && a.pieces[len(a.pieces)-1].to > floor
				})
			},
			do: func() { w.lose(newestBackup, p) },
		},
	}
}

// moved: a backup is from before an operator has closed the way below a floor.
func (w *world) moved(p *process) plot {
	return plot{
		{do: w.keep},
		{do: w.quarantine},
		{
			when: func() bool { return p.knows(w.history) && p.observe().meta.Record.Base >= w.base },
			do:   func() { w.lose(newestBackup, p) },
		},
	}
}

// released: the first that comes after the loss of a grant is its release.
func (w *world) released(a *actor) plot {
	return plot{
		{do: func() { a.pause(true) }},
		{when: a.rests, do: func() { w.keep() }},
		{do: func() { a.pause(false) }},
		{when: func() bool {
			return len(w.kept) > 0 && a.g.Token != "" && a.confirmed.After(w.kept[len(w.kept)-1].at) &&
				!a.given
		}, do: func() {
			a.leaves.Store(true)
			a.withoutHandle.Store(w.rng.IntN(2) == 0)
			w.lose(newestBackup, a.p)
		}},
	}
}

// inherited: a backup is from before the last renewal of a holder, and somebody else has had its
// worker ID since. The successor of the holder is the first that comes after the loss, with its
// grant alone.
func (w *world) inherited(a *actor) plot {
	id := -1
	return plot{
		{when: func() bool { return a.g.Token != "" && w.holds(a) }, do: w.keep},
		{
			when: func() bool { return a.confirmed.After(w.kept[len(w.kept)-1].at) && w.holds(a) },
			do:   func() { a.pause(true) },
		},
		{when: a.rests, do: func() { id = a.g.WorkerID; w.expire(id) }},
		{when: func() bool { return w.slot(id).Generation > a.g.Generation && !a.given }, do: func() {
			w.heir = a
			w.lose(newestBackup, nil)
			w.heir = nil
		}},
		{do: w.rejoin},
	}
}

// generationAgain: while a holder rests, there is a loss, and somebody else has its worker
// ID. Then a copy of its acquisition is granted the generation that it had before.
func (w *world) generationAgain(a *actor) plot {
	for _, b := range w.actors { // of a first generation, there is none before
		if a.g.Generation < 2 {
			a = b
		}
	}
	return plot{
		{do: func() { a.pause(true) }},
		{when: a.rests, do: func() {
			if w.lose(firstBackup, nil); w.survivor == nil { // else the lease begins anew with the back end
				w.expire(a.g.WorkerID)
			}
		}},
		{
			when: func() bool {
				slot := w.slot(a.g.WorkerID)
				if slot.Generation+1 < a.g.Generation {
					w.server.Expire(slot.Worker)
				}
				return slot.NotAfter > w.server.Meta().Floor && slot.Generation+1 == a.g.Generation
			},
			do: func() {
				w.expire(a.g.WorkerID)
				w.copied(a)
				a.withoutHandle.Store(true)
				a.leaves.Store(w.rng.IntN(2) == 0)
				w.rejoin()
			},
		},
	}
}

// slot is what is stored of a worker ID.
func (w *world) slot(id int) (found protocol.Slot) {
	for _, s := range w.server.Slots() {
		if s.Worker == id {
			found = s
		}
	}
	return found
}
