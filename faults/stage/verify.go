package stage

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/history"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/verdict"
)

const (
	// historyTime is how long the check of the histories may take.
	historyTime = time.Minute
	// maxDescribed is how many findings of a kind are reported of each checker.
	maxDescribed = 3
	// maxIllegal is how many results of calls are reported that nothing explains.
	maxIllegal = 10
)

// verify fails the stage if an ID was issued twice, or if the run does not keep what its scenario says otherwise,
// and fills in the figures of the result.
func (s *Stage) verify(r *Result) {
	if _, skipped := s.TB.(*tb).outcome(); skipped != "" {
		return
	}
	s.checkJournals(r)
	s.checkHistories(r)
	r.Interruption = s.Interruption()
	sc := s.Scenario
	switch {
	case sc.ExpectDuplicates && r.Duplicates == 0:
		s.Errorf("no ID was issued twice; the scenario shows how that happens, so a checker or the scenario is broken")
	case !sc.ExpectDuplicates && r.Duplicates > 0:
		s.Errorf("%d IDs were issued twice", r.Duplicates)
	}
	if r.IDs < sc.MinIDs {
		s.Errorf("%d IDs were issued; fewer than %d prove nothing", r.IDs, sc.MinIDs)
	}
	if sc.Recovery > 0 && s.recovery > sc.Recovery {
		s.Errorf("it took %v until an ID was issued again; at most %v is allowed", s.recovery.Round(time.Millisecond), sc.Recovery)
	}
}

// checkJournals has both checkers look at all journals.
func (s *Stage) checkJournals(r *Result) {
	var journals []*journal.Reader
	for _, w := range s.all() {
		for _, path := range w.Journals() {
			j, err := journal.Open(path)
			if err != nil {
				s.Errorf("a journal cannot be read: %v", err)
				continue
			}
			defer j.Close()     // it is only read
			if j.Issued() > 0 { // one that was refused may have had another layout
				journals = append(journals, j)
			}
		}
	}
	if len(journals) == 0 {
		return // and there are no IDs
	}
	merged, err := verdict.Merge(journals)
	s.judge(r, "runs", merged, err)
	mapped, err := verdict.Bitmap(journals)
	s.judge(r, "bitmap", mapped, err)
	if merged.IDs != mapped.IDs || merged.Duplicates != mapped.Duplicates {
		s.Errorf("the checkers differ: by runs there are %d IDs and %d duplicates, by bitmap %d and %d",
			merged.IDs, merged.Duplicates, mapped.IDs, mapped.Duplicates)
	}
	r.IDs, r.Duplicates = merged.IDs, max(merged.Duplicates, mapped.Duplicates)
}

// judge reports what a checker has found.
func (s *Stage) judge(r *Result, checker string, v verdict.Verdict, err error) {
	if err != nil {
		s.Errorf("checker %s: %v", checker, err)
	}
	described := map[string]int{}
	for _, f := range v.Findings {
		if described[f.Kind]++; described[f.Kind] > maxDescribed {
			continue
		}
		if s.Scenario.ExpectDuplicates && (f.Kind == verdict.Duplicate || f.Kind == verdict.SharedTick) {
			continue
		}
		r.find(f.Kind)
		s.Errorf("checker %s: %s (%d in all): %s", checker, f.Kind, v.Found[f.Kind], f.Text)
	}
}

// checkHistories fails the stage if no order of the calls at the coordinator explains their results.
func (s *Stage) checkHistories(r *Result) {
	if s.Scenario.ExpectDuplicates {
		return // the coordinator, or its state, is what has failed
	}
	var paths, elsewhere []string
	for _, w := range s.all() {
		if slices.Contains(s.elsewhere, w) {
			elsewhere = append(elsewhere, w.Histories()...)
		} else {
			paths = append(paths, w.Histories()...)
		}
	}
	s.checkHistory(r, paths)
	if len(elsewhere) > 0 {
		s.checkHistory(r, elsewhere)
	}
}

// checkHistory is checkHistories of the files of one namespace.
func (s *Stage) checkHistory(r *Result, paths []string) {
	outcome, err := history.Check(paths, historyTime, s.Scenario.Rules...)
	if err != nil {
		s.Errorf("the histories of the calls: %v", err)
		return
	}
	for i, text := range outcome.Illegal {
		r.find(IllegalHistory)
		if i == maxIllegal {
			s.Errorf("the histories of the calls: and so on, %d in all", len(outcome.Illegal))
			break
		}
		s.Errorf("the histories of the calls: %s", text)
	}
	if len(outcome.Undecided) > 0 {
		s.Errorf("the histories of the calls: %v did not suffice to decide on the worker IDs %v", historyTime, outcome.Undecided)
	}
	s.Logf("%d calls at the coordinator were checked, %d of them with an unclear end; %d worker IDs", outcome.Calls, outcome.Unclear, outcome.Workers)
}
