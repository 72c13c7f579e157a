package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// backup is what was stored at one moment.
type backup struct {
	restore func()
	at      time.Time
}

// keep keeps what the back end has stored, as a backup.
func (w *world) keep() {
	w.note("keep")
	if len(w.kept) == backups {
		w.kept = slices.Delete(w.kept, 1, 2) // the first one stays: most numbers come again after it
	}
	w.kept = append(w.kept, backup{w.server.Snapshot(), time.Now()})
}

// backups is how many are kept.
const backups = 4

// which says which one is restored.
type which int

const (
	anyBackup which = iota // or the namespace is deleted
	newestBackup
	firstBackup
)

// lose rolls the back end back to an earlier state, or deletes the namespace: the one loss of
// a run. If a holder survives it, and leases tell newcomers to wait for that, or if the back
// end tells everybody, nothing else is done. What comes otherwise is what the documentation
// asks for: an operator quarantines the namespace before anybody is served, or a process that
// has seen some of what was lost is served first. The process is any, unless first can be it.
func (w *world) lose(which which, first *process) {
	if !w.lossy || w.history > 0 {
		return
	}
	var knowing []*process
	for _, p := range w.procs {
		if p.knows(w.history) {
			knowing = append(knowing, p)
		}
	}
	number := w.server.State().Number
	deleted := len(w.kept) == 0 || which == anyBackup && w.rng.IntN(6) == 0
	var survivor *actor
	if deleted {
		w.server.Delete()
	} else {
		b := w.kept[[...]int{w.rng.IntN(len(w.kept)), len(w.kept) - 1, 0}[which]]
		if survivor = w.surviving(b.at); time.Since(b.at) < ttl+2*w.skew {
			survivor = nil // newcomers would not know that their lease is old
		}
		if b.restore(); !w.held(b.at) {
			survivor = nil // nor is there any lease that tells them
		}
	}
	w.mu.Lock()
	w.history++
	w.mu.Unlock()
	w.note(fmt.Sprintf("loss: from %d to %d, deleted: %t", number, w.server.State().Number, deleted))
	w.restored = w.server.Meta().Loss.Nonce
	moved := w.server.Strict || w.rng.IntN(4) == 0
	if moved {
		w.server.Move("lineage 1")
	}
	number = w.server.State().Number
	for range w.rng.IntN(4) { // what the network repeats waits for nobody
		w.haunt()
	}
	if w.server.State().Number != number && slices.ContainsFunc(w.actors, w.asLeft) {
		survivor = nil // a renewal that was repeated has brought back what was lost of a window
	}
	now := w.server.Meta()
	// to everybody
	told, known := w.server.Strict || moved && !deleted, now.Base >= w.base && w.longestKept(now)
	switch heir := w.heir; {
	case known && heir != nil && !w.asLeft(heir) && w.holds(heir):
		w.inherit(heir)
		return
	case known && (told || survivor != nil):
		w.note(fmt.Sprint("nobody is first; told: ", told))
		w.Free++
		w.survivor = survivor
		w.due = w.server.Strict || survivor != nil
		w.rejoin() // nobody keeps it from renewing
		if !told {
			w.renew(survivor.p)
		}
		return
	}
	// A change that the network repeats may bring the record of an earlier loss back, which is
	// then found later than what was seen of the history between the two. Who did not know of
	// that loss cannot tell it from one that explains what it has seen.
	witnesses := slices.DeleteFunc(knowing, func(p *process) bool {
		if now.Loss.Nonce != w.restored && p.observe().meta.Record.Loss.Nonce != now.Loss.Nonce {
			return true
		}
		return !deleted && p.observe().number <= w.server.State().Number+1 ||
			max(p.observe().meta.Record.Base, w.server.Meta().Base) < w.base
	})
	if len(witnesses) == 0 || w.rng.IntN(3) == 0 {
		w.declareLoss(true)
		return
	}
	witness := witnesses[w.rng.IntN(len(witnesses))]
	if slices.Contains(witnesses, first) {
		witness = first
	}
	if !deleted && w.server.Meta().Base < w.base && w.rng.IntN(2) == 0 {
		w.declareLoss(false) // an operator who does not know of the floor, but the witness does
		w.restored = w.server.Meta().Loss.Nonce
	}
	w.witnessed(witness, deleted)
}

// held reports whether the server has a lease that was renewed before a time, by its holder's
// clock.
func (w *world) held(before time.Time) bool {
	for id, o := range w.server.State().Owners {
		if o.Token != "" && w.slot(id).Renewed <= before.Add(w.skew).UnixMicro() {
			return true
		}
	}
	return false
}

// longestKept reports whether it is known how long windows are that were lost.
func (w *world) longestKept(now protocol.Meta) bool {
	return w.longest.Milliseconds() <= max(now.MaxHorizon, maxHorizon.Milliseconds())
}

// surviving is a holder who has renewed since a time, and lives; nil: there is none, or another
// one has not, who would find all as it left it.
func (w *world) surviving(since time.Time) *actor {
	if slices.ContainsFunc(w.actors, func(a *actor) bool {
		return a.g.Token != "" && !a.confirmed.After(since)
	}) {
		return nil
	}
	for _, a := range w.actors {
		if !a.given && !a.asleep && !a.paused.Load() && a.confirmed.After(since) && w.holds(a) &&
			a.c == a.p.coordinator() {
			return a
		}
	}
	return nil
}

// inherit has the successor of a holder be the first that comes after a loss, which finds less of
// a window than there was.
func (w *world) inherit(a *actor) {
	w.note(fmt.Sprint("heir: ", a.id))
	w.Heirs++
	a.p.clock.set(0)
	w.mu.Lock()
	w.cut, w.survivor, w.due = func(b *actor) bool { return b != a }, a, true
	w.mu.Unlock()
	a.p.end(a.p.coordinator())
	a.heir.Store(true)
	a.pause(false)
}

// renew has other processes than one begin anew, which know nothing of a loss, if what their
// actors hold tells them.
func (w *world) renew(but *process) {
	for _, p := range w.procs {
		asLeft := func(a *actor) bool { return a.p == p && w.asLeft(a) }
		if p != but && w.rng.IntN(2) == 0 && !slices.ContainsFunc(w.actors, asLeft) {
			w.note(fmt.Sprint("begins anew: ", p.id))
			p.end(p.coordinator())
		}
	}
}

// holds reports whether the slot of an actor's grant is its own.
func (w *world) holds(a *actor) bool {
	return w.slot(a.g.WorkerID).Holds(a.g.Token, a.g.Generation)
}

// asLeft reports whether an actor finds the slot of its grant as it left it.
func (w *world) asLeft(a *actor) bool {
	return w.holds(a) && w.slot(a.g.WorkerID).NotAfter >= a.g.NotAfter
}

// noticed reports whether the loss was noticed.
func (w *world) isNoticed() bool {
	now := w.server.Meta().Loss.Nonce
	return now != "" && now != w.restored
}

// witnessed serves nobody but one process until it has dealt with a loss. It cannot notice
// that any more if others write meanwhile, or leases end. Where the back end has no clock, its
// clock may be wrong just then.
func (w *world) witnessed(p *process, deleted bool) {
	w.note(fmt.Sprint("witness: ", p.id))
	saw := p.observe().number
	w.serveOnly(p)
	defer w.serveOnly(nil)
	w.disconnect(p)
	if off := p.clock.off.Load(); w.server.Clock == nil && w.rng.IntN(4) == 0 {
		w.far = true
		p.clock.set(time.Hour)
		defer p.clock.off.Store(off)
	}
	shown := deleted && p.observe().number > 0
	for range 300 {
		w.step()
		w.wait()
		if w.isNoticed() {
			w.Noticed++
			return
		}
		if p.observe().history != w.history || deleted {
			continue
		}
		if shown = shown || p.observe().number < saw; !shown && w.server.State().Number >= saw {
			break // nothing shows it any more
		}
	}
	if off := time.Duration(p.clock.off.Load()) * time.Microsecond; shown &&
		p.observe().history == w.history && !(w.server.Strict && off.Abs() > w.skew) {
		safetytest.Of(w.tb).Errorf("process %d has seen write %d and does not notice that it is lost",
			p.id, saw)
	}
	w.declareLoss(true) // a request by the wrong clock may be under way all the same
}

// serveOnly serves nobody but one process; nil: all.
func (w *world) serveOnly(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serve = p
}

// disconnect loses the requests that a process has sent: what it learned since, it cannot
// compare with their answers.
func (w *world) disconnect(p *process) {
	for _, a := range w.actors {
		if a.p != p {
			continue
		}
		for { // one at a time, so that a seed repeats
			w.mu.Lock()
			i := slices.IndexFunc(w.parked, func(sent *parcel) bool {
				return sent.from == a && !sent.answer
			})
			if i < 0 {
				w.mu.Unlock()
				break
			}
			sent := w.parked[i]
			w.parked = slices.Delete(w.parked, i, i+1)
			w.mu.Unlock()
			sent.fate <- delayed
			w.wait()
		}
	}
}

// needs reports whether a process is to notice a loss: it is not to die before.
func (w *world) needs(p *process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm || w.serve == p || w.survivor != nil && w.survivor.p == p
}

// isCalm reports whether nothing happens any more.
func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

// declareLoss has an operator say that writes were lost, and raise the floor again that
// protects what is stamped elsewhere, if that is known.
func (w *world) declareLoss(known bool) {
	w.operate("declare the loss", func(ctx context.Context, c *protocol.Coordinator) error {
		if err := c.Init(ctx, w.space()); err != nil && !errors.Is(err, coord.ErrInvalid) {
			return err
		}
		_, err := c.Quarantine(ctx, time.Time{})
		if err == nil && known && w.server.Meta().Base < w.base {
			_, err = c.Quarantine(ctx, protocol.Time(space.Scale.Micro(w.base)))
		}
		if err != nil {
			w.tb.Errorf("an operator cannot declare a loss: %v", err)
		}
		return err
	})
}

// operate has an operator with a right clock make a call, which nobody comes between.
//
// An operator waits for the leases of holders who may be dead.
func (w *world) operate(what string, call func(context.Context, *protocol.Coordinator) error) {
	c := newCoordinator(w, w.server, rightClock{}, w.rng.Int64N,
		slog.DiscardHandler)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := call(ctx, c)
	w.note(fmt.Sprint(what, ": ", err == nil))
	if err != nil {
		w.say(err.Error())
	}
}

// quarantine has an operator raise the floor above what somebody stamps elsewhere, who
// does so at once: nothing that was granted here reaches as far.
func (w *world) quarantine() {
	until := time.Now().Add(time.Duration(
		w.rng.Int64N(int64(furthest/time.Millisecond))) * time.Millisecond)
	from := max(w.server.Meta().Floor, w.reached)
	for _, s := range w.server.Slots() {
		from = max(from, s.NotAfter)
	}
	if w.far {
		return
	}
	w.operate("quarantine", func(ctx context.Context, c *protocol.Coordinator) error {
		_, err := c.Quarantine(ctx, until)
		to := space.Scale.Tick(until.UnixMicro())
		if err != nil || to <= from {
			return err
		}
		w.base = max(w.base, to)
		for id := range workers {
			w.ledger.stamp(w, elsewhere, id, from, to)
		}
		return nil
	})
}

// furthest is how far ahead an operator raises the floor at the most.
const furthest = 30 * time.Second

// elsewhere is who stamps what an operator's floor protects.
const elsewhere = -1
