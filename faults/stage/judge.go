package stage

import (
	"bufio"
	"context"
	"io"
	"iter"
	"strconv"

	"github.com/unalike-id/unalike/faults/journal"
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
	var journals []*journal.Reader
	for _, w := range s.all() {
		for _, path := range w.Journals() {
			j, err := journal.Open(path)
			if err != nil {
				s.Errorf("a journal cannot be read: %v", err)
				continue
			}
			defer j.Close()
			if n, _ := j.Progress(); n > 0 { // one that was refused may have had another layout
				journals = append(journals, j)
			}
		}
	}
	if len(journals) > 0 {
		report, err := check(s.suite, journals, s.dir)
		if err != nil {
			s.Errorf("the IDs could not be checked: %v", err)
			return
		}
		r.IDs, r.Duplicates = uint64(report.IDs), uint64(report.Extra)
		s.complain(report)
	}
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
	s.Errorf("of %d IDs %d were issued twice, %d are out of order in a goroutine, %d lie outside "+
		"the layout", r.IDs, r.Extra, r.OutOfOrder, r.Outside+r.Unreadable)
	for _, c := range r.Clashes {
		s.Errorf("ID %d (%+v) was issued %d times, in the journals %v", c.ID, c.Parts, c.Times, c.Places)
	}
	for _, e := range r.Examples {
		s.Errorf("%s: %s: %s", e.Kind, e.Place, e.Text)
	}
	for _, c := range r.Causes {
		s.Logf("worker ID %d: %s: %s", c.WorkerID, c.Kind, c.Why)
	}
}

// check has package verify look at all IDs of some journals, which are of one layout.
func check(ctx context.Context, journals []*journal.Reader, temp string) (*verify.Report, error) {
	h := journals[0].Header
	o := verify.Options{
		Format: verify.Format{Digits: true, Parse: func(text string) (uint64, error) {
			return strconv.ParseUint(text, 10, 63)
		}},
		Memory: sortMemory, Temp: temp, Shown: shown,
	}
	if !h.Numbers {
		o.Layout = &h.Layout
	}
	var sources []verify.Source
	for _, j := range journals {
		sources = append(sources, verify.Source{
			Name: j.Header.Generator, Size: -1, Again: true, Open: func() (io.ReadCloser, error) {
				return lines(j.Runs()), nil
			},
		})
	}
	return verify.Check(ctx, sources, o)
}

// lines returns the IDs of runs as package verify reads them, one a line.
func lines(runs iter.Seq[journal.Run]) io.ReadCloser {
	in, out := io.Pipe()
	go func() {
		b := bufio.NewWriterSize(out, 64<<10)
		var line []byte
		for run := range runs {
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
