package stage

import (
	"bufio"
	"cmp"
	"io"
	"strconv"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/verify"
)

const (
	// sortMemory is what the judge may use for sorting, in bytes.
	sortMemory = 256 << 20
	// shown is how many duplicates, and examples of each kind, are reported in detail.
	shown = 3
)

// judge fails the stage if an ID was issued twice, or otherwise does not keep what is promised,
// and fills in the figures of the result. Package verify decides. It takes as long as it takes,
// unless the suite is interrupted.
func (s *Stage) judge(r *Result) {
	report, err := s.check()
	if err != nil {
		s.Errorf("the IDs could not be checked: %v", err)
		return
	}
	r.IDs, r.Duplicates = uint64(report.IDs), uint64(report.Extra)
	s.complain(report)
	r.Interruption = s.Interruption()
	if r.IDs < fewest {
		s.Errorf("%d IDs were issued; fewer than %d prove nothing", r.IDs, fewest)
	}
	if limit := s.Scenario.Recovery; limit > 0 && s.recovery > limit {
		s.Errorf("it took %v until an ID was issued again; at most %v is allowed", short(s.recovery),
			limit)
	}
}

// complain reports what is wrong with the IDs.
func (s *Stage) complain(r *verify.Report) {
	if r.OK(true) {
		return
	}
	safetytest.Of(s).Errorf(
		"of %d IDs %d were issued twice, %d are out of order in a goroutine, %d lie outside the layout",
		r.IDs, r.Extra, r.OutOfOrder, r.Outside+r.Unreadable)
	for _, c := range r.Clashes {
		safetytest.Of(s).Errorf("ID %d (%+v) was issued %d times, in the journals %v", c.ID, c.Parts,
			c.Times, c.Places)
	}
	for _, e := range r.Examples {
		safetytest.Of(s).Errorf("%s: %s: %s", e.Kind, e.Place, e.Text)
	}
	for _, c := range r.Causes {
		s.Logf("worker ID %d: %s: %s", c.WorkerID, c.Kind, c.Why)
	}
}

// check has package verify look at the IDs of all workers, which have one layout.
func (s *Stage) check() (*verify.Report, error) {
	o := verify.Options{
		Format: verify.Format{Digits: true, Parse: func(text string) (uint64, error) {
			return strconv.ParseUint(text, 10, 63)
		}},
		Memory: sortMemory, Temp: s.dir, Shown: shown,
	}
	var sources []verify.Source
	for _, w := range s.all() {
		if g := w.Spec.Generators[0]; g.Segment == "" {
			layout := cmp.Or(g.Layout, core.DefaultLayout())
			o.Layout = &layout
		}
		for _, path := range w.Journals() {
			sources = append(sources, verify.Source{
				Name: path, Size: -1, Again: true,
				Open: func() (io.ReadCloser, error) { return lines(path), nil },
			})
		}
	}
	return verify.Check(s.suite, sources, o)
}

// lines returns the IDs of a journal as package verify reads them, one a line.
func lines(path string) io.ReadCloser {
	in, out := io.Pipe()
	go func() {
		b := bufio.NewWriterSize(out, 64<<10)
		var line []byte
		for run, err := range journal.Runs(path) {
			if err != nil {
				_ = out.CloseWithError(err)
				return
			}
			for i := range run.Count {
				line = append(strconv.AppendInt(line[:0], int64(run.First)+i, 10), '\n')
				if _, err := b.Write(line); err != nil {
					return // nobody reads on
				}
			}
		}
		_ = out.CloseWithError(b.Flush())
	}()
	return in
}
