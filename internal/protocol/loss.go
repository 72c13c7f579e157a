package protocol

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// detector notices that the back end has lost writes, and windows with them. What it
// counts never falls, a back end keeps its lineage, and a namespace its nonce; where
// that is not so, writes were lost.
//
// Each loss that was dealt with begins an era: what was seen before it tells nothing of
// what comes after.
type detector struct {
	maxHorizon, skewBound time.Duration // see longest

	mu     sync.Mutex
	raised int64 // the era that began when this process raised the floor last
	last   sight // what was seen since the era began, or since the last proof
	// space is the namespace as it was known last, before a loss, with the highest floor and
	// base that were seen since; nil: it was not known.
	space     *Meta
	floorSeen evidence // of its floor
	// What shows a loss that was not dealt with.
	lost     string           // the first proof; empty: there is none
	proofs   map[string]int64 // when the newest evidence was seen, by the nonce of the loss known then
	lineages bool             // answers have come from back ends with different lineages
}

func newDetector(maxHorizon, skewBound time.Duration) *detector {
	return &detector{maxHorizon: maxHorizon, skewBound: skewBound}
}

// evidence says of a thing that was seen when that was, and after which loss.
type evidence struct {
	seen int64  // microseconds since 1970
	loss string // the nonce of the last loss that was known then
}

// sight is what had been seen last, or highest, at one moment. What is asked for after that
// moment can only be newer; if it is not, that is proof of a loss.
//
// From a proof on, sights begin anew with the answer that is one: a second loss may follow
// before the first was dealt with, and what was seen between the two shows it.
type sight struct {
	era      int64
	proofs   int  // how often sights have begun anew in this era
	proof    bool // with the answer to what was asked for after this one
	meta     *Entry[Meta]
	metaSeen evidence
	position Position
	posSeen  evidence
}

// sight returns what has been seen so far.
func (d *detector) sight() *sight {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.last
	return &at
}

// sound reports whether what was seen in an era can be relied on: no loss was noticed
// since.
func (d *detector) sound(era int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last.era == era && d.lost == ""
}

// loss returns what shows that writes were lost; empty: nothing does.
func (d *detector) loss() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// known returns the namespace's record as it was seen last, before a loss, with the highest
// floor and base that were seen since; nil: it was not seen.
func (d *detector) known() *Meta {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.space
}

// prove notes that writes were lost, contrary to evidence. The caller holds mu.
func (d *detector) prove(why string, e evidence) {
	if d.lost == "" {
		d.lost, d.proofs = why, map[string]int64{}
	}
	d.proofs[e.loss] = max(d.proofs[e.loss], e.seen)
}

// disprove notes that the answer to a request that was made after a sight proves a loss,
// contrary to evidence. If nothing has proved one since, the answer is what is seen from
// now on. The caller holds mu.
func (d *detector) disprove(at *sight, why string, e evidence) {
	d.prove(why, e)
	if at.proofs == d.last.proofs && !at.proof {
		at.proofs, at.proof = at.proofs+1, true
		d.last = sight{era: at.era, proofs: at.proofs}
	}
}

// now returns the evidence that something seen now is. The caller holds mu.
func (d *detector) now(now int64) evidence {
	e := evidence{seen: now}
	if d.last.meta != nil {
		e.loss = d.last.meta.Record.Loss.Nonce
	}
	return e
}

// learn takes note of an answer to a request that was made after a sight: of its position,
// and of the namespace's record as the request has read it; nil: it has not.
func (d *detector) learn(at *sight, p Position, meta *Entry[Meta], now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.era != d.last.era {
		return
	}
	// All of an answer is doubted before any of it is taken note of: from a proof on, sights
	// begin anew with the whole answer.
	d.doubtPosition(at, p)
	if meta != nil {
		d.doubtMeta(at, meta)
	}
	d.seePosition(at, p, now)
	if meta != nil && meta.There() {
		d.seeMeta(at, meta, now)
	}
}

// doubtPosition proves a loss if the position of an answer shows one. The caller holds mu.
func (d *detector) doubtPosition(at *sight, p Position) {
	if at.position.Lineage != "" && p.Lineage != "" && p.Lineage != at.position.Lineage {
		d.lineages = true
		d.disprove(at, fmt.Sprintf("the lineage of the back end was %s and is %s", at.position.Lineage, p.Lineage), at.posSeen)
	}
	if p.Number != 0 && (p.Number < at.position.Number || p.Wrote && p.Number == at.position.Number) {
		d.disprove(at, fmt.Sprintf("write %#x was seen, and a later one is %#x", at.position.Number, p.Number), at.posSeen)
	}
}

// doubtMeta proves a loss if the namespace's record in an answer shows one. The caller
// holds mu.
func (d *detector) doubtMeta(at *sight, meta *Entry[Meta]) {
	if at.meta != nil {
		if why := metaContradicts(at.meta, meta); why != "" {
			d.disprove(at, why, at.metaSeen)
		}
	}
	if seen := d.last.meta; at.meta == nil && seen != nil && meta.There() && seen.Record.Nonce != meta.Record.Nonce {
		// It does not matter which of the two was read first.
		d.disprove(at, "there are two namespaces of the same name", d.last.metaSeen)
	}
}

// seePosition takes note of a position. The caller holds mu.
func (d *detector) seePosition(at *sight, p Position, now int64) {
	if at.proofs != d.last.proofs {
		return // it may be older than the proof
	}
	if p.Lineage != "" || p.Number != 0 {
		d.last.position.Lineage, d.last.posSeen = p.Lineage, d.now(now)
		d.last.position.Number = max(d.last.position.Number, p.Number)
	}
}

// seeMeta takes note of the namespace's record. Answers are not handled in the order in
// which they were read, so one may be older than what is known by now. The caller holds mu.
func (d *detector) seeMeta(at *sight, meta *Entry[Meta], now int64) {
	if seen := d.last.meta; at.proofs == d.last.proofs && (seen == nil || seen.Version <= meta.Version) {
		d.last.meta = meta
		d.last.metaSeen = d.now(now)
	}
	d.remember(meta.Record, now)
}

// remember takes note of the namespace as it was seen. What was known of it before a loss
// is kept until that is dealt with: it may be another one by now. The caller holds mu.
func (d *detector) remember(meta Meta, now int64) {
	e := evidence{now, meta.Loss.Nonce}
	switch {
	case d.lost == "":
		d.space, d.floorSeen = &d.last.meta.Record, d.last.metaSeen
	case d.space == nil:
		d.space, d.floorSeen = &meta, e
	case d.space.Fingerprint == meta.Fingerprint:
		space := d.space.declared(meta.MaxHorizon)
		if meta.Floor > space.Floor {
			space.Floor, d.floorSeen = meta.Floor, e
		}
		space.Base = max(space.Base, meta.Base)
		d.space = &space
	}
}

// foreign takes note that the namespace was written in a back end with another lineage.
// Nobody knows when.
func (d *detector) foreign(era int64, origin, lineage string, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if era == d.last.era {
		d.prove(fmt.Sprintf("the lineage of the back end was %s and is %s", origin, lineage), evidence{seen: now})
	}
}

// compare takes note of what shows, if anything does, that writes were lost between two
// views of one worker ID. What a view of an earlier era shows was dealt with if this
// process has raised the floor since, or if the loss on record explains it.
func (d *detector) compare(known, now *View) {
	why := viewContradicts(known, now)
	if why == "" {
		return
	}
	e := evidence{known.seen, known.Meta.Record.Loss.Nonce}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case now.era != d.last.era, known.era < d.raised:
		return
	case known.era != now.era && now.Meta.Record.Settles(e.loss, e.seen, d.longest(), d.skewBound):
		return
	}
	d.prove(why, e)
}

// severalLineages reports whether answers have come from back ends with different
// lineages.
func (d *detector) severalLineages() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lineages
}

// still reports whether nothing was noticed since a sight: no loss, and no end of its era. The
// caller holds mu.
func (d *detector) still(at *sight) bool { return at.era == d.last.era && at.proofs == d.last.proofs }

// settle begins an era if the loss on record in a namespace explains all that shows that
// writes were lost, and nothing is missing that was known of it: the floor that an operator
// has asked for, the longest horizon, and what protects those windows that the loss on record
// does not. It reports whether it does. At is the sight after which the namespace was read.
func (d *detector) settle(at *sight, p Position, meta Entry[Meta], now int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == "" || !d.still(at) {
		return false
	}
	settles := func(loss string, seen int64) bool {
		return meta.Record.Settles(loss, seen, d.longest(), d.skewBound)
	}
	if k := d.space; k != nil && k.Fingerprint == meta.Record.Fingerprint &&
		(k.Base > meta.Record.Base || k.Floor > meta.Record.Floor && !settles(d.floorSeen.loss, d.floorSeen.seen) || k.MaxHorizon > meta.Record.MaxHorizon) {
		return false
	}
	for loss, seen := range d.proofs {
		if !settles(loss, seen) {
			return false
		}
	}
	d.begin(at, p, meta, now)
	return true
}

// forgive begins an era with what is stored now that this process has raised the floor, and
// returns it. At is the sight by which the floor was raised: there is no new era if a loss
// was noticed since, or another floor or a longer horizon seen.
func (d *detector) forgive(at *sight, p Position, meta Entry[Meta], now int64) (era int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.space
	if !d.still(at) || k != nil && k.Fingerprint == meta.Record.Fingerprint && (k.Floor > meta.Record.Floor || k.Base > meta.Record.Base || k.MaxHorizon > meta.Record.MaxHorizon) {
		return 0, false
	}
	d.begin(at, p, meta, now)
	d.raised = d.last.era
	return d.last.era, true
}

// begin begins an era. What was seen since a sight may have been lost again before the
// answer with which the era begins: it is kept, and the next answer tells. The caller holds
// mu.
func (d *detector) begin(at *sight, p Position, meta Entry[Meta], now int64) {
	seen := d.last
	d.lost, d.proofs, d.lineages = "", nil, false
	d.space = &meta.Record
	d.last = sight{era: seen.era + 1, meta: &meta, position: p}
	d.last.metaSeen = d.now(now)
	d.last.posSeen, d.floorSeen = d.last.metaSeen, d.last.metaSeen
	if n := seen.position.Number; n > max(at.position.Number, p.Number) {
		d.last.position.Number, d.last.posSeen = n, seen.posSeen
	}
}

// metaContradicts says what shows, if anything does, that the second reading of a
// namespace's record is of another history than the first: it is not deleted, its
// version does not fall, nor does the base of its floor or the longest horizon with which it
// was declared, and no version comes again with another value.
func metaContradicts(first, second *Entry[Meta]) string {
	switch a, b := first.Record, second.Record; {
	case !second.There():
		return "the namespace is gone"
	case a.Nonce != b.Nonce:
		return "the namespace was deleted and made again"
	case first.Made != second.Made && first.Made != MadeUnknown && second.Made != MadeUnknown:
		return fmt.Sprintf("the namespace was made in write %#x, and now it is one that was made in %#x", first.Made, second.Made)
	case first.Version > second.Version:
		return fmt.Sprintf("the version of the namespace was %d and is %d", first.Version, second.Version)
	case first.Version == second.Version && !bytes.Equal(first.Raw, second.Raw):
		return fmt.Sprintf("version %d of the namespace has another value than before", first.Version)
	case a.Base > b.Base:
		return fmt.Sprintf("the base of the floor was tick %d and is %d", a.Base, b.Base)
	case a.MaxHorizon > b.MaxHorizon:
		return fmt.Sprintf("windows of up to %v were declared, and now of up to %v", a.Horizon(0), b.Horizon(0))
	}
	return ""
}

// viewContradicts says what shows, if anything does, that the second of two views of one
// worker ID cannot follow the first unless writes were lost: a slot is never deleted, no
// version or generation falls, a generation has one token until it is released, and a
// window that only grows.
func viewContradicts(first, second *View) string {
	if first == nil || second == nil || first == second {
		return ""
	}
	a, b := first.Slot.Record, second.Slot.Record
	switch {
	case !second.Slot.There():
		return fmt.Sprintf("the slot of worker ID %d is gone", a.Worker)
	case first.Slot.Made != second.Slot.Made && first.Slot.Made != MadeUnknown && second.Slot.Made != MadeUnknown:
		return fmt.Sprintf("the slot of worker ID %d was made in write %#x, and now it is one that was made in %#x", a.Worker, first.Slot.Made, second.Slot.Made)
	case second.Slot.Version < first.Slot.Version:
		return fmt.Sprintf("the version of worker ID %d's slot was %d and is %d", a.Worker, first.Slot.Version, second.Slot.Version)
	case b.Generation < a.Generation:
		return fmt.Sprintf("the generation of worker ID %d was %d and is %d", a.Worker, a.Generation, b.Generation)
	case b.Generation > a.Generation || a.Token == "" || b.Token == "":
		// another holder, or a release
	case b.Token != a.Token:
		return fmt.Sprintf("generation %d of worker ID %d was granted twice", a.Generation, a.Worker)
	case b.NotAfter < a.NotAfter:
		return fmt.Sprintf("the window of worker ID %d ended at tick %d and ends at %d", a.Worker, a.NotAfter, b.NotAfter)
	}
	return metaContradicts(&first.Meta, &second.Meta)
}
