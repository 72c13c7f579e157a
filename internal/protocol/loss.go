package protocol

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
)

// A back end that loses writes loses windows with them, and would grant them again. What shows
// that is in proof, and what is done about it in remedy: the floor is raised above all windows
// that can be lost. Losses are dealt with one at a time.

// observation is what a process has seen of the back end since the last loss. What is asked for
// after that can only be newer.
type observation struct {
	losses  int64  // how many were noticed; views and answers are of the time between two
	lost    string // what shows one that is not dealt with; empty: there is none
	drawn   string // the nonce that its record will have
	lineage string
	number  int64 // the highest
	seen    int64 // when the newest was seen, in microseconds since 1970: the latest that it can be
	// meta is the namespace, as it was seen last before a loss, with the highest floor, base
	// and horizon that were seen since; zero: it was not seen.
	meta    Meta
	version int64
}

// answer is what a request has shown. What it has not read is zero.
type answer struct {
	Position
	origin     string
	meta       *Entry[Meta]
	mine, slot *Entry[Slot] // as it was confirmed before the request, and as it is
}

// foreign reports whether the namespace was written in a back end with another lineage.
func (a answer) foreign() bool { return a.origin != "" && a.origin != a.Lineage }

// proof says what shows that writes were lost, if an answer does to a request that was made
// when at was what had been seen; empty: nothing does. A namespace keeps its nonce and its
// lineage; numbers and versions do not fall, nor do the base of its floor and its horizon; nobody
// but its holder changes a slot in one generation, in which the window only grows.
func proof(at observation, a answer) string {
	switch {
	case at.lost != "":
		return "" // one at a time
	case a.foreign(): //mutant:proof-foreign
		return fmt.Sprintf("the namespace was written in lineage %s of the back end, and that is %s",
			a.origin, a.Lineage)
	case at.lineage != "" && a.Lineage != "" && a.Lineage != at.lineage:
		return fmt.Sprintf("the lineage of the back end was %s and is %s", at.lineage, a.Lineage)
	//mutant:proof-number
	case a.Number != 0 && (a.Number < at.number || a.Wrote && a.Number == at.number):
		return fmt.Sprintf("write %#x was seen, and a later one is %#x", at.number, a.Number)
	//mutant:proof-nonce
	case at.meta.Nonce != "" && a.meta != nil && a.meta.Record.Nonce != at.meta.Nonce:
		return "the namespace is gone, or was made again"
	case a.meta != nil && a.meta.Version < at.version: //mutant:record-version
		return fmt.Sprintf("the version of the namespace's record was %d and is %d", at.version,
			a.meta.Version)
	case a.meta != nil && a.meta.Record.lacks(at.meta):
		return "the base of the floor, or the longest horizon, was higher"
	case a.mine == nil || a.slot == nil || !a.mine.There():
		return ""
	}
	switch was, is := a.mine.Record, a.slot.Record; {
	case is.Generation < was.Generation: //mutant:proof-generation
		return fmt.Sprintf("the generation of worker ID %d was %d and is %d", was.Worker, was.Generation,
			is.Generation)
	case a.slot.Version < a.mine.Version: //mutant:proof-version
		return fmt.Sprintf("the version of worker ID %d's slot was %d and is %d", was.Worker,
			a.mine.Version, a.slot.Version)
	case is.Generation > was.Generation || was.Token == "" || is.Token == "":
		return "" // a successor, or a release
	case is.Token != was.Token: //mutant:proof-token
		return fmt.Sprintf("generation %d of worker ID %d was granted twice", was.Generation, was.Worker)
	case is.NotAfter < was.NotAfter: //mutant:proof-window
		return fmt.Sprintf("the window of worker ID %d ended at tick %d and ends at %d", was.Worker,
			was.NotAfter, is.NotAfter)
	}
	return ""
}

// remedy returns what to store for a namespace because writes were lost, or that what a
// survey shows of it settles that: the loss is on record, and nothing is missing that this
// process has seen. It is this loss if this process has put it there, or if it was found
// after all that this process has seen: a backup may hold the record of an older one. That
// of a namespace which was made because none was there says only that it may be lost.
func remedy(m observation, a answer, at Span, driver Limits) (next Meta, settled bool) {
	stored, l := a.meta.Record, m.limits(driver)
	mine := stored.Loss.Nonce != "" && stored.Loss.Nonce == m.drawn
	found := mine || stored.Settles(m.meta.Loss.Nonce, m.seen, l) //mutant:remedy-older
	switch {
	case !found || a.foreign() || stored.lacks(m.meta):
		stored = stored.AfterLoss(m.meta, at, l)
	case mine || !stored.Born():
		return stored, true
	}
	stored.Loss.Nonce = m.drawn
	return stored, false
}

// detector is the memory of a process. Its methods are safe for concurrent use.
type detector struct {
	limits Limits // of the driver

	mu sync.Mutex
	m  observation
}

// observation returns what was seen so far.
func (d *detector) observation() observation {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.m
}

// sound reports whether what was seen after a number of losses can be relied on: none was
// noticed since.
func (d *detector) sound(losses int64) bool {
	m := d.observation()
	return m.losses == losses && m.lost == ""
}

// observe takes note of the answer to a request that was made when at was what had been seen,
// and returns after how many losses the answer is what is stored.
func (d *detector) observe(at observation, a answer, now int64) (losses int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.losses != d.m.losses { //mutant:learned-before
		return at.losses // nobody knows whether it is of the time before
	}
	if why := proof(at, a); why != "" {
		d.m.losses++
		d.m.lost, d.m.drawn = why, rand.Text()
	}
	there, known := a.meta != nil && a.meta.There(), d.m.meta.Nonce != ""
	switch {
	case d.m.lost != "":
		if there { // what the namespace demands is remembered
			d.m.meta = d.m.meta.with(a.meta.Record)
		}
		return at.losses
	case there && known && a.meta.Record.Loss.Nonce != d.m.meta.Loss.Nonce:
		// One that was dealt with before this process has noticed it.
		if _, settled := remedy(d.m, a, Span{now, now}, d.limits); settled {
			d.begin(a, now)
			return d.m.losses
		}
	}
	if a.Lineage != "" {
		d.m.lineage = a.Lineage
	}
	d.m.number, d.m.seen = max(d.m.number, a.Number), max(d.m.seen, now)
	if there && (!known || a.meta.Version >= d.m.version) {
		d.m.meta, d.m.version = a.meta.Record, a.meta.Version //mutant:lowered-stays
	}
	return d.m.losses
}

// deal notes that a loss is dealt with, by what is stored now, and returns after how many
// losses that is so. It does nothing, and ok is false, if another one was noticed since.
func (d *detector) deal(losses int64, a answer, now int64) (after int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if losses != d.m.losses {
		return losses, false
	}
	d.begin(a, now)
	return d.m.losses, true
}

// begin forgets what was seen before a loss. The caller holds mu.
func (d *detector) begin(a answer, now int64) {
	d.m = observation{
		losses: d.m.losses + 1, lineage: a.Lineage, number: a.Number, seen: now,
		meta: a.meta.Record, version: a.meta.Version,
	}
}

// raises is how often a call tries to raise the floor: all who notice a loss do at once.
const raises = 20

// raiseIfLost raises the floor if writes were lost, by the later of now and this coordinator's
// clock.
func (c *Coordinator) raiseIfLost(ctx context.Context, s Session, now int64) error {
	refused := refusals{}
	for n := range raises {
		if c.detector.observation().lost == "" {
			return nil
		}
		if err := c.pause(ctx, n-1); err != nil {
			return err
		}
		if ck, ok := s.(Checker); ok {
			if err := ck.CheckLineages(ctx); err != nil {
				return err
			}
		}
		if err := c.raise(ctx, s, now, refused); err != nil {
			return err
		}
	}
	return errBusy
}

// raise makes one attempt at raising the floor. It does nothing if somebody else has
// raised it for what this process has noticed.
func (c *Coordinator) raise(ctx context.Context, s Session, now int64, refused refusals) error {
	if err := c.awaitClock(); err != nil {
		return err
	}
	ask := Ask{}
	if known := c.detector.observation().meta; known.Nonce != "" {
		ask = c.making(ask, known, false) // again
	}
	sv, err := c.survey(ctx, s, ask)
	if err != nil {
		return err
	}
	if !sv.Meta.There() {
		return errNoNamespace
	}
	at, err := c.floorClock(sv, max(now, c.now())) //mutant:raised-now
	switch {
	case err != nil && c.set.Forgets:
		return err
	case err != nil: // what this process has noticed may be known to nobody else
		c.log.Warn("the floor is raised by the back end's clock, as this machine's differs", "namespace",
			c.set.Namespace, "error", err)
	}
	m, a := c.detector.observation(), answer{Position: sv.Position, origin: sv.Origin, meta: &sv.Meta}
	if m.lost == "" { // another call has dealt with it
		return nil
	}
	// By the clock of now: more may be lost since it was noticed, if this process was stopped.
	next, settled := remedy(m, a, at, c.detector.limits)
	if !settled {
		out, err := c.replace(ctx, s, Change{
			Before: sv.view(), Meta: &next, NoteLineage: true, Deadline: at.High,
		}, refused)
		if err != nil || !out.Done {
			return err
		}
		a.Position, a.meta = out.Position, &out.Now.Meta
	}
	if _, ok := c.detector.deal(m.losses, a, c.seen(s, a.Position)); !ok {
		return nil
	}
	if log := c.log.With("namespace", c.set.Namespace, "reason", m.lost, "until",
		next.floorEnds()); settled {
		log.Warn(c.set.Title + " may have lost writes; the floor was raised for that already")
	} else {
		log.Error(c.set.Title + " may have lost writes; nothing is granted until the windows that " +
			"may be lost with them are over")
	}
	return nil
}
