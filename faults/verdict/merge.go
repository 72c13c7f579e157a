package verdict

import (
	"cmp"
	"errors"
	"slices"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

// span is a run in memory.
type span struct {
	first, last core.ID
	journal     int32
}

// Merge sorts the runs of all journals in memory and walks through them once. It needs some 24
// bytes for a run, which at full speed has thousands of IDs. The error is about journals
// that cannot be read, and not about what is wrong with them.
func Merge(journals []*journal.Reader) (Verdict, error) {
	if len(journals) == 0 {
		return Verdict{}, errNone
	}
	m := &merge{journals: journals}
	for i, r := range journals {
		if err := m.load(int32(i), r); err != nil { //nolint:gosec // nobody has 2^31 files open
			return Verdict{}, err
		}
	}
	slices.SortFunc(m.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last), cmp.Compare(a.journal, b.journal))
	})
	m.overlaps()
	m.sharedTicks()
	return m.Verdict, nil
}

// merge is one run of Merge.
type merge struct {
	Verdict

	journals []*journal.Reader
	spans    []span
	foreign  []bool // journals whose layout is not that of the first
}

// load reads a journal and checks what concerns it alone.
func (m *merge) load(number int32, r *journal.Reader) error {
	switch err := r.Check(); {
	case errors.Is(err, journal.ErrDamaged):
		m.add(Damaged, 1, "%v", err)
	case err != nil:
		return err
	}
	h, first := r.Header(), m.journals[0].Header()
	m.foreign = append(m.foreign, h.Layout.String() != first.Layout.String())
	if m.foreign[number] {
		m.add(BadHeader, 1, "%s has layout %v, %s has %v", name(r), h.Layout, name(m.journals[0]), first.Layout)
	}
	for _, other := range m.journals[:number] {
		if o := other.Header(); o.Generator == h.Generator && o.PID != h.PID {
			m.add(BadHeader, 1, "%s has the name of %s", name(r), name(other))
			break
		}
	}
	last := map[int64]core.ID{} // by worker ID
	for run := range r.Runs() {
		s := span{first: run.First, last: run.First + core.ID(run.Count-1), journal: number}
		m.spans = append(m.spans, s)
		m.IDs += uint64(run.Count)
		worker := int64(s.first) >> h.Layout.SequenceBits & (1<<h.Layout.WorkerBits - 1)
		if h.Numbers {
			worker = 0 // all of them rise
		}
		if before, ok := last[worker]; ok && s.first >= 0 && s.first <= before {
			m.add(Order, 1, "%s has issued %s after %s", name(r), describe(h.Layout, s.first), describe(h.Layout, before))
		}
		if s.first >= 0 {
			last[worker] = s.last
		}
		share := h.Workers
		if s.first < 0 || s.last > h.Layout.MaxID() || worker < int64(share.First) || share.Count > 0 && worker >= int64(share.First+share.Count) {
			m.add(Range, 1, "%s has issued %s; its layout is %v and its worker IDs are %v", name(r), describe(h.Layout, s.first), h.Layout, share)
		}
	}
	return nil
}

// overlaps counts the IDs of spans that lie in an earlier one too.
func (m *merge) overlaps() {
	if len(m.spans) == 0 {
		return
	}
	top := m.spans[0] // of those so far, the one that ends last
	for _, s := range m.spans[1:] {
		if s.first <= top.last {
			n := uint64(min(s.last, top.last)-s.first) + 1
			m.Duplicates += n
			a, b := m.journals[top.journal], m.journals[s.journal]
			m.add(Duplicate, n, "%s and %d IDs after it: issued by %s and by %s", describe(b.Header().Layout, s.first), n-1, name(a), name(b))
		}
		if s.last > top.last {
			top = s
		}
	}
}

// sharedTicks looks for neighbors in a tick which are of two generators. Spans do not
// cross the end of a tick.
func (m *merge) sharedTicks() {
	shift := m.journals[0].Header().Layout.SequenceBits
	var before *span
	reported := false
	for i := range m.spans {
		s := &m.spans[i]
		if m.foreign[s.journal] || m.journals[s.journal].Header().Shares() {
			continue
		}
		if before == nil || before.first>>shift != s.first>>shift {
			before, reported = s, false
			continue
		}
		a, b := m.journals[before.journal], m.journals[s.journal]
		if reported || a.Header().Generator == b.Header().Generator {
			continue
		}
		m.add(SharedTick, 1, "the tick of %s: %s has issued there, and %s", describe(b.Header().Layout, s.first), name(a), name(b))
		reported = true
	}
}
