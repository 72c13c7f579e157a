package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// serves ends all that goes wrong, and looks whether all worker IDs serve again soon. A floor
// that a wrong clock has raised is not passed by then: an error has to say what lowers it.
func (w *world) serves() {
	w.rejoin()
	w.wait()
	w.mu.Lock()
	w.calm, w.serve, w.survivor, w.plot, w.ghosts = true, nil, nil, nil, nil
	w.mu.Unlock()
	w.giveUp()
	w.note("calm")
	for _, p := range w.procs {
		if p.clock.off.Load() != 0 {
			p.clock.set(0)
		}
	}
	for slices.ContainsFunc(w.actors, func(a *actor) bool { return a.asleep }) {
		w.step()
		w.wait()
	}
	for _, a := range w.actors {
		a.leaves.Store(false)
		a.patient.Store(false)
	}
	began := time.Now()
	soon := max(w.longest, maxHorizon) + w.skew + ttl
	if base := protocol.Time(space.Scale.Micro(w.server.Meta().Base)); base.After(began) {
		soon += base.Sub(began)
	}
	for !w.all() || w.due && !w.isNoticed() {
		limit := soon
		if w.server.Strict { // a floor has an allowance for the request that has raised it
			floor := protocol.Time(space.Scale.Micro(w.server.Meta().Floor))
			limit = max(limit, floor.Sub(began)+w.skew+ttl)
		}
		switch {
		case time.Since(began) <= limit:
		case w.far && w.named: // the operator does what the error says
			w.lower()
			began, w.far = time.Now(), false
			soon += ttl // nobody has tried to renew meanwhile
			w.Far++
		default:
			w.tb.Errorf("after %v not all worker IDs serve, or nobody has noticed the loss, and the "+
				"namespace is %+v", time.Since(began), w.server.Meta())
			for _, a := range w.actors {
				w.tb.Logf("%d at tick %d has %v, pieces %v; stored is %+v", a.id, a.tick(), a.g, a.pieces,
					w.slot(a.g.WorkerID))
			}
			return
		}
		w.step()
		w.wait()
	}
	w.slowest = time.Since(began)
}

// all reports whether all worker IDs that are granted serve.
func (w *world) all() bool {
	serving := map[int]bool{}
	for _, a := range w.actors {
		if n := len(a.pieces); a.g.Token != "" && n > 0 {
			now, p := a.tick(), a.pieces[n-1]
			serving[a.g.WorkerID] = serving[a.g.WorkerID] || p.from < now && now <= p.to
		}
	}
	farthest := space.Scale.Tick(time.Now().Add(max(w.longest, maxHorizon) + 4*w.skew).UnixMicro())
	for id := range w.share {
		if slot := w.slot(id); !serving[id] && !slot.Retired && slot.NotAfter < farthest {
			// else a wrong clock has taken it out of use
			return false
		}
	}
	return true
}

// refused takes note of what a renewal says that is held back by the floor.
func (w *world) refused(a *actor, err error) {
	q, ok := errors.AsType[*coord.QuarantinedError](err)
	meta := w.server.Meta()
	if !ok || meta.Base >= meta.Floor || space.Scale.Tick(q.Until.UnixMicro()) < meta.Floor {
		return // it waits for something else than a floor that somebody has raised
	}
	explained := max(w.longest, maxHorizon) + 6*w.skew
	if w.server.Strict {
		explained += protocol.LongestAllowance
	}
	if time.Until(q.Until) < max(explained, furthest) { // which an operator may have wanted
		return
	}
	w.say(fmt.Sprint(a.id, " is refused: ", err))
	if a.p.clock.off.Load() < time.Hour.Microseconds() &&
		!strings.Contains(err.Error(), "unalike quarantine --lower") {
		w.tb.Errorf("a floor that is far too high is not told of: %v", err)
	}
	w.named = true
}
