package verdict

import (
	"errors"
	"math/bits"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

// Bitmap has one bit for each ID that was issued, and for each tick of a worker ID the
// generator that was seen there first. It reads the journals once, one after the other, and
// sorts nothing. It needs a bit for an ID at full speed, and some 200 bytes for a tick
// with a single ID. The error is about journals that cannot be read, and not about what is wrong
// with them.
func Bitmap(journals []*journal.Reader) (Verdict, error) {
	b := &bitmap{issued: map[int64]*page{}, owners: map[int64]owner{}, processes: map[string]int{}}
	for _, r := range journals {
		if err := b.read(r); err != nil {
			return Verdict{}, err
		}
	}
	if b.reference == nil {
		return Verdict{}, errNone
	}
	return b.verdict, nil
}

// page is the bits of pageIDs neighboring IDs.
type page [pageIDs / 64]uint64

const pageIDs = 1024

// owner is who has issued in a tick of a worker ID first.
type owner struct {
	generator string
	shared    bool
}

// bitmap is one run of Bitmap.
type bitmap struct {
	verdict   Verdict
	reference *core.Layout // of the first journal
	issued    map[int64]*page
	owners    map[int64]owner // by the ID without its sequence number
	processes map[string]int  // by the generator's name
}

// read takes in a journal.
func (b *bitmap) read(r *journal.Reader) error {
	if err := r.Check(); errors.Is(err, journal.ErrDamaged) {
		b.verdict.add(Damaged, 1, "%v", err)
	} else if err != nil {
		return err
	}
	h := r.Header()
	if b.reference == nil {
		b.reference = &h.Layout
	}
	same := h.Layout.String() == b.reference.String()
	if !same {
		b.verdict.add(BadHeader, 1, "%s has layout %v; the first journal has %v", name(r), h.Layout, *b.reference)
	}
	if pid, known := b.processes[h.Generator]; !known {
		b.processes[h.Generator] = h.PID
	} else if pid != h.PID {
		b.verdict.add(BadHeader, 1, "%s has a name that process %d has too", name(r), pid)
	}
	newest := map[int]core.ID{}
	for run := range r.Runs() {
		b.mark(r, run)
		if same && !h.Shares() {
			b.own(r, run)
		}
		b.inspect(r, run, newest)
	}
	return nil
}

// mark sets the bits of a run and counts those that were set.
func (b *bitmap) mark(r *journal.Reader, run journal.Run) {
	b.verdict.IDs += uint64(run.Count)
	for id, left := int64(run.First), run.Count; left > 0; {
		p := b.issued[id>>10]
		if p == nil {
			p = new(page)
			b.issued[id>>10] = p
		}
		bit := uint(id & 63)
		n := min(left, int64(64-bit))
		word, mask := &p[id&(pageIDs-1)/64], ^uint64(0)>>(64-n)<<bit
		if twice := *word & mask; twice != 0 {
			again := uint64(bits.OnesCount64(twice))
			b.verdict.Duplicates += again
			at := core.ID(id&^63 + int64(bits.TrailingZeros64(twice)))
			b.verdict.add(Duplicate, again, "%s, and %d of the next 63: issued before and again by %s", describe(r.Header().Layout, at), again-1, name(r))
		}
		*word |= mask
		id, left = id+n, left-n
	}
}

// own looks who has issued in the tick of a run.
func (b *bitmap) own(r *journal.Reader, run journal.Run) {
	key, generator := int64(run.First)>>b.reference.SequenceBits, r.Header().Generator
	o, known := b.owners[key]
	switch {
	case !known:
		b.owners[key] = owner{generator: generator}
	case o.generator != generator && !o.shared:
		b.owners[key] = owner{generator: o.generator, shared: true}
		b.verdict.add(SharedTick, 1, "the tick of %s: generator %q has issued there, and %s", describe(*b.reference, run.First), o.generator, name(r))
	}
}

// inspect takes the first ID of a run, from which the others differ by their sequence number
// alone, apart and puts it together again. newest has the newest ID of each worker ID in the journal.
func (b *bitmap) inspect(r *journal.Reader, run journal.Run, newest map[int]core.ID) {
	h, end := r.Header(), run.First+core.ID(run.Count-1)
	if !composed(h, run.First) {
		b.verdict.add(Range, 1, "%s has issued %s to %s, which are not IDs of layout %v and of worker IDs %v",
			name(r), describe(h.Layout, run.First), describe(h.Layout, end), h.Layout, h.Workers)
	}
	if run.First < 0 {
		return
	}
	worker := -1 // of numbers, which all rise
	if !h.Numbers {
		worker = h.Layout.Decompose(run.First).WorkerID
	}
	if before, known := newest[worker]; known && run.First <= before {
		b.verdict.add(Order, 1, "%s has issued %s when %s was issued already", name(r), describe(h.Layout, run.First), describe(h.Layout, before))
	}
	newest[worker] = end
}

// composed reports whether an ID is what its parts make, and is of a worker ID that its generator
// may lease.
func composed(h journal.Header, id core.ID) bool {
	p := h.Layout.Decompose(id)
	again, err := h.Layout.Compose(p.Time, p.WorkerID, p.Sequence)
	offset := p.WorkerID - h.Workers.First
	return err == nil && again == id && offset >= 0 && (h.Workers.Count == 0 || offset < h.Workers.Count)
}
