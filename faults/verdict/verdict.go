// Package verdict decides from journals whether IDs are unique. [Merge] and [Bitmap] answer
// the same questions by different algorithms, and share neither code that decides nor data
// structures, so that a mistake in one of them shows as a difference.
//
// Both look for these faults:
//
//   - duplicate: an ID that was issued more than once, by whomever.
//   - shared tick: a tick of a worker ID in which two generators have issued IDs. Windows
//     do not overlap, so this is a fault even if all IDs differ by luck. Numbers of segments have no ticks, and
//     a server gives IDs of one tick to several processes.
//   - order: within a journal, an ID that is not above the one before it of the same worker ID, or a number of a segment that is not above the one before it.
//   - range: an ID that the layout cannot hold, or whose worker ID is not one that its generator
//     may lease.
//   - header: a journal whose layout differs from that of the first one, or a name of a
//     generator that two processes have.
//   - damaged: a journal that no writer leaves behind, see package journal.
//
// All journals must be of one namespace. Each may still be written; what is added while it is
// read may be left out.
package verdict

import (
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

// Kinds of findings.
const (
	Duplicate  = "duplicate"
	SharedTick = "shared tick"
	Order      = "order"
	Range      = "range"
	BadHeader  = "header"
	Damaged    = "damaged"
)

// Finding is one fault.
type Finding struct {
	Kind string // one of the constants
	Text string // for people: which ID, which generators, which journals
}

// Verdict is what a checker has found.
type Verdict struct {
	IDs        uint64 // in all journals, duplicates included
	Duplicates uint64 // IDs minus different IDs
	// Found is how often each kind was found: IDs that are duplicates, ticks that are shared,
	// runs that are out of order or out of range, journals that have a bad header or are damaged.
	Found map[string]uint64
	// Findings are the first few of each kind.
	Findings []Finding
}

// shown is how many findings of a kind are described.
const shown = 10

// add counts n faults of a kind, and describes them if there are not many yet.
func (v *Verdict) add(kind string, n uint64, format string, args ...any) {
	if v.Found == nil {
		v.Found = map[string]uint64{}
	}
	v.Found[kind] += n
	described := 0
	for _, f := range v.Findings {
		if f.Kind == kind {
			described++
		}
	}
	if described < shown {
		v.Findings = append(v.Findings, Finding{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
}

// errNone keeps a test that lost its journals from passing.
var errNone = errors.New("verdict: there are no journals, so nothing was checked")

// name describes a journal in a finding.
func name(r *journal.Reader) string {
	h := r.Header()
	return fmt.Sprintf("generator %q (process %d, %s)", h.Generator, h.PID, r.Path())
}

// describe prints an ID with its parts.
func describe(l core.Layout, id core.ID) string {
	if id < 0 {
		return fmt.Sprintf("ID %d", int64(id))
	}
	p := l.Decompose(id)
	return fmt.Sprintf("ID %d (%s, worker ID %d, sequence %d)", int64(id), p.Time.Format("2006-01-02T15:04:05.000Z07:00"), p.WorkerID, p.Sequence)
}
