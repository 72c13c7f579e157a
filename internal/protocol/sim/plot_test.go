package sim

import (
	"slices"

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

// patience is for how many steps a plot waits for a scene.
const patience = 400

// play plays the next scene, if it is time for that.
func (w *world) play() {
	switch next := w.plot[0]; {
	case next.when == nil && w.rng.IntN(20) > 0, next.when != nil && !next.when() && w.waited < patience:
		w.waited++
	case w.waited >= patience:
		w.rejoin()
		w.plot, w.waited = nil, 0
	default:
		w.plot, w.waited = w.plot[1:], 0
		next.do()
		if len(w.plot) == 0 {
			w.plots++
		}
	}
}

// begin begins a plot.
func (w *world) begin() {
	switch w.rng.IntN(4) {
	case 0:
		w.plot = w.lostGrant(w.someone())
	case 1:
		w.plot = w.lostTwice(w.procs[w.rng.IntN(len(w.procs))])
	case 2:
		w.plot = w.generationAgain(w.someone())
	case 3:
		w.plot = w.lostFloor(w.procs[w.rng.IntN(len(w.procs))])
	}
}

// lostGrant: while a holder rests, somebody else is granted what it holds, and that is
// lost. Its renewal is the first request after that.
func (w *world) lostGrant(a *actor) plot {
	id, mate, number := a.g.WorkerID, w.actors[a.p.id*each+(a.id+1)%each], int64(0)
	return plot{
		{do: func() { a.pause(true) }},
		{when: a.rests, do: func() { w.keep(); w.expire(id); number = w.server.Number() }},
		{
			when: func() bool { return w.slot(id).Generation > a.g.Generation && a.p.sight().number > number+workers },
			do:   func() { mate.pause(true) },
		},
		{when: mate.rests, do: func() { a.pause(false); w.lose(newestBackup, a.p) }},
		{do: w.rejoin},
	}
}

// lostTwice: a second loss, back to a state after the first one. A process has seen one
// answer between the two, and clocks are as far apart as they may be.
func (w *world) lostTwice(p *process) plot {
	off := skewBound / 2
	return plot{
		{do: func() {
			for _, other := range w.procs {
				other.clock.set(off)
			}
			p.clock.set(-off)
			p.end(p.coordinator())
			w.wait() // until its actors have noticed
			w.lose(anyBackup, nil)
			w.keep()
		}},
		{when: func() bool { return p.sight().history == w.history }, do: func() { w.cutOff(w.actors[p.id*each], true) }},
		{
			when: func() bool {
				floor := w.server.Meta().Floor
				return slices.ContainsFunc(w.actors, func(a *actor) bool { return len(a.pieces) > 0 && a.pieces[len(a.pieces)-1].to > floor })
			},
			do: func() { w.rejoin(); w.lose(newestBackup, p) },
		},
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
		{when: a.rests, do: func() { w.lose(firstBackup, nil); w.expire(a.g.WorkerID) }},
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
				a.bare.Store(true)
				a.leaves.Store(w.rng.IntN(2) == 0)
				w.rejoin()
			},
		},
	}
}

// lostFloor: an operator's floor is lost, which a process has seen.
func (w *world) lostFloor(p *process) plot {
	return plot{
		{do: func() { w.keep(); w.quarantine() }},
		{
			when: func() bool { return p.knows(w.history) && p.sight().meta.Record.Base >= w.base },
			do:   func() { w.lose(newestBackup, p) },
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
