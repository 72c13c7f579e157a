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
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// keep keeps what the back end has stored, as a backup.
func (w *world) keep() {
	w.note("keep")
	if len(w.kept) == backups {
		w.kept = slices.Delete(w.kept, 1, 2) // the first one stays: most numbers come again after it
	}
	w.kept = append(w.kept, w.server.Snapshot())
}

// backups is how many are kept.
const backups = 4

// backup says which one is restored.
type backup int

const (
	anyBackup backup = iota // or the namespace is deleted
	newestBackup
	firstBackup
)

// lose rolls the back end back to an earlier state, or deletes the namespace. What comes
// then is what the documentation asks for: an operator quarantines the namespace before
// anybody is served, or a process that has seen some of what was lost is served first.
// The process is any, unless first can be it.
func (w *world) lose(backup backup, first *process) {
	var knowing []*process
	for _, p := range w.procs {
		if p.knows(w.history) {
			knowing = append(knowing, p)
		}
	}
	number, deleted := w.server.Number(), len(w.kept) == 0 || backup == anyBackup && w.rng.IntN(6) == 0
	if deleted {
		w.server.Delete()
	} else {
		i := [...]int{w.rng.IntN(len(w.kept)), len(w.kept) - 1, 0}[backup]
		w.kept[i]() // it stays: there may be a second loss to the same state
	}
	w.mu.Lock()
	w.history++
	w.mu.Unlock()
	w.note(fmt.Sprintf("loss: from %d to %d, deleted: %t", number, w.server.Number(), deleted))
	restored := w.server.Meta().Loss.Nonce
	for range w.rng.IntN(4) { // what the network repeats waits for nobody
		w.haunt()
	}
	if w.rng.IntN(4) == 0 {
		w.server.Move(fmt.Sprint("lineage ", w.rng.IntN(3)))
	}
	// A change that the network repeats may bring the record of an earlier loss back, which is
	// then found later than what was seen of the history between the two. Who did not know of
	// that loss cannot tell it from one that explains what it has seen.
	now := w.server.Meta().Loss.Nonce
	witnesses := slices.DeleteFunc(knowing, func(p *process) bool {
		if now != restored && p.sight().meta.Record.Loss.Nonce != now {
			return true
		}
		return !deleted && p.sight().number <= w.server.Number()+1 || max(p.sight().meta.Record.Base, w.server.Meta().Base) < w.base
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
	}
	w.witnessed(witness, deleted)
}

// witnessed serves nobody but one process until it has dealt with a loss. It cannot notice
// that any more if others write meanwhile, or leases end.
func (w *world) witnessed(p *process, deleted bool) {
	w.note(fmt.Sprint("witness: ", p.id))
	before, saw := w.server.Meta().Loss.Nonce, p.sight().number
	w.serveOnly(p)
	defer w.serveOnly(nil)
	w.disconnect(p)
	for range 300 {
		w.step()
		w.wait()
		if now := w.server.Meta().Loss.Nonce; now != "" && now != before {
			w.noticed++
			return
		}
		if !deleted && p.answered() != w.history && w.server.Number() >= saw {
			break
		}
	}
	w.declareLoss(true)
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
			i := slices.IndexFunc(w.parked, func(sent *parcel) bool { return sent.from == a && !sent.answer })
			if i < 0 {
				w.mu.Unlock()
				break
			}
			sent := w.parked[i]
			w.parked = slices.Delete(w.parked, i, i+1)
			w.mu.Unlock()
			sent.fate <- late
			w.wait()
		}
	}
}

// needs reports whether a process is a witness, which is not to die.
func (w *world) needs(p *process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.serve == p
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
	c := newCoordinator(w, memstore.Store{Server: w.server}, rightClock{}, w.rng.Int64N, slog.DiscardHandler)
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
	until := time.Now().Add(time.Duration(w.rng.IntN(30_000)) * time.Millisecond)
	from := w.server.Meta().Floor
	for _, s := range w.server.Slots() {
		from = max(from, s.NotAfter)
	}
	for _, a := range w.actors {
		for _, p := range a.pieces {
			from = max(from, p.to)
		}
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

// elsewhere is who stamps what an operator's floor protects.
const elsewhere = -1
