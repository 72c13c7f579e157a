package protocol

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// raises is how often a call tries to raise the floor: after a loss, all processes that
// notice it try at the same time.
const raises = 20

// heal raises the floor if writes were lost, see rule 11 of package coord. Now is a clock
// reading to take into account beside this coordinator's own.
func (c *Coordinator) heal(ctx context.Context, s Session, now int64) error {
	if c.detector.loss() == "" {
		return nil
	}
	select {
	case c.raising <- struct{}{}:
		defer func() { <-c.raising }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for n := range raises {
		why := c.detector.loss()
		if why == "" {
			return nil // somebody else has done it
		}
		if err := c.pause(ctx, n); err != nil {
			return err
		}
		if done, err := c.raise(ctx, s, why, now); done || err != nil {
			return err
		}
	}
	return errBusy
}

// raise makes one attempt at raising the floor. It does nothing if somebody else has
// raised it, and what shows the loss was seen before that.
func (c *Coordinator) raise(ctx context.Context, s Session, why string, now int64) (done bool, err error) {
	ask := Ask{}
	if known := c.detector.known(); known != nil {
		ask.New = c.firstMeta(*known, nil)
	}
	sv, err := c.survey(ctx, s, ask)
	if err != nil || sv.Made {
		return false, err // if it was made with a floor, nothing is to be raised any more
	}
	if !sv.Meta.There() {
		return false, fmt.Errorf("%w: there is no such namespace", coord.ErrInvalid)
	}
	if sw, ok := s.(Checker); ok && c.detector.severalLineages() {
		if err := sw.CheckLineages(ctx); err != nil {
			return false, err
		}
	}
	seen := c.seen(s)
	if c.settled(sv, seen) {
		c.log.Warn(c.set.Title+" had lost writes; the floor was raised for that already",
			"namespace", c.set.Namespace, "reason", why, "until", sv.Meta.Record.floorEnds())
		return true, nil
	}
	checked, doubtful, err := c.clocks.forFloor(max(now, c.now()), s.Time(), c.others(sv.Holders))
	if err != nil {
		return false, err
	}
	at := c.detector.sight()
	next := sv.Meta.Record.AfterLoss(c.detector.known(), checked, c.horizon(), c.set.SkewBound)
	if doubtful { // before it is written: the answer may be lost
		c.clocks.setDoubt(doubt{number: sv.Number, when: lifetime.Now(), mine: true, loss: next.Loss.Nonce})
	}
	out, err := c.replaceMeta(ctx, s, sv, Change{Meta: &next, Settle: true})
	if err != nil || !out.Done {
		return false, err
	}
	if _, ok := c.detector.forgive(at, out.Position, out.Now.Meta, seen); !ok {
		return false, nil // more was lost meanwhile
	}
	c.clocks.restart(out.Number)
	c.log.Error(c.set.Title+" has lost writes; nothing is granted until the windows that may be lost with them are over",
		"namespace", c.set.Namespace, "reason", why, "until", next.floorEnds())
	return true, nil
}

// settled reports whether the loss on record in a survey is the one that was noticed, see
// [detector.settle].
func (c *Coordinator) settled(sv *Survey, seen int64) bool {
	if (sv.Origin == "" || sv.Origin == sv.Lineage) && c.detector.settle(sv.at, sv.Position, sv.Meta, seen) {
		c.clocks.restart(sv.Number)
		return true
	}
	return false
}

// replaceMeta makes a change to the namespace's record as a survey has shown it. The
// error is that of something else that has changed what belongs to the record.
func (c *Coordinator) replaceMeta(ctx context.Context, s Session, sv *Survey, change Change) (Outcome, error) {
	change.Before = &View{Position: sv.Position, Meta: sv.Meta, Origin: sv.Origin, Server: sv.Server, era: sv.era}
	out, _, err := c.commit(ctx, s, change)
	if err != nil || out.Done || out.Damage == nil {
		return out, err
	}
	again, err := c.survey(ctx, s, Ask{})
	if err == nil && again.Meta.Version == sv.Meta.Version && again.Meta.Made == sv.Meta.Made {
		return out, out.Damage
	}
	return out, err
}

// Checker is implemented by sessions that can tell whether their servers belong together.
type Checker interface {
	// CheckLineages returns an error that wraps [coord.ErrInvalid] if the servers that the
	// session may talk to have different lineages.
	CheckLineages(ctx context.Context) error
}

// firstMeta returns the record of a namespace that has to be made, see [Ask]. If this
// coordinator remembers the namespace, or its caller has just seen it, it has not been new but
// lost.
func (c *Coordinator) firstMeta(meta Meta, seen *Meta) func(now int64) Meta {
	return func(now int64) Meta {
		known := cmp.Or(c.detector.known(), seen)
		if known == nil {
			return meta
		}
		if known.Fingerprint == meta.Fingerprint {
			meta = *known
		}
		meta.Nonce = rand.Text()
		checked, _, _ := c.clocks.forFloor(c.now(), now, nil) // there is no holder to be read
		return meta.AfterLoss(known, checked, c.horizon(), c.set.SkewBound)
	}
}

// madeFrom is the record of a namespace that was lost while its slots were not: they tell
// the floor. Whatever else was known of it, nothing says that windows were not lost too.
func (c *Coordinator) madeFrom(meta Meta, now, floor int64) Meta {
	if meta.Loss.Nonce == "" {
		checked, _, _ := c.clocks.forFloor(c.now(), now, nil) // there is no holder to be read
		meta = meta.AfterLoss(nil, checked, c.horizon(), c.set.SkewBound)
	}
	meta.Floor = max(meta.Floor, floor)
	return meta
}

// settleDoubt lowers a floor that may have been raised too far, if two others have renewed
// since: they are alive, and their clocks tell how far it should reach.
func (c *Coordinator) settleDoubt(ctx context.Context, s Session) error {
	since := c.clocks.doubted()
	if since.number == 0 {
		return nil
	}
	sv, err := c.survey(ctx, s, Ask{})
	if err != nil {
		return err
	}
	if !sv.Meta.There() {
		c.clocks.setDoubt(doubt{})
		return nil
	}
	if c.detector.loss() != "" && !c.settled(sv, c.seen(s)) {
		return nil // the floor is to be raised first, and with it is on record why
	}
	if loss := sv.Meta.Record.Loss.Nonce; loss != since.loss {
		// Marks of others may have come back with what was lost, whatever their numbers: only
		// who renews from now on is alive.
		c.clocks.setDoubt(doubt{number: sv.Number, when: lifetime.Now(), mine: since.mine, loss: loss})
		return nil
	}
	lower, early, err := c.clocks.lowered(sv.Meta.Record, since, lifetime.Since(since.when), c.now(), c.others(sv.Holders), c.horizon())
	switch {
	case early:
		return nil
	case errors.Is(err, coord.ErrNamespaceClosed) || err == nil && lower.Floor == sv.Meta.Record.Floor:
		c.clocks.setDoubt(doubt{})
		return nil
	case err != nil:
		return err
	}
	out, err := c.replaceMeta(ctx, s, sv, Change{Meta: &lower, Settle: true})
	if err != nil || !out.Done {
		return err // the next call tries again
	}
	c.clocks.setDoubt(doubt{})
	c.log.Error("the floor was raised too far by a clock that differs from those of the holders, and is lowered; set the clock of the machine that raised it",
		"namespace", c.set.Namespace, "until", lower.floorEnds())
	return nil
}

// question notes that the floor may have been raised too far, if it reaches further than
// this clock explains, and the back end has none: whoever raised it with a wrong clock may
// be gone.
func (c *Coordinator) question(v *View) {
	if c.set.OneMachine || c.set.ServerClock || c.clocks.doubted().number != 0 {
		return
	}
	lower, err := v.Meta.Record.Lowered(c.now()+2*c.set.SkewBound.Microseconds(), c.horizon(), c.set.SkewBound)
	if err == nil && lower.Floor < v.Meta.Record.Floor {
		c.clocks.setDoubt(doubt{number: v.Slot.Version, when: lifetime.Now(), loss: v.Meta.Record.Loss.Nonce})
	}
}
