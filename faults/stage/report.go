package stage

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Latest returns the latest result of each scenario on each back end.
func Latest(results []Result) []Result {
	latest := map[string]Result{}
	for _, r := range results {
		latest[r.key()] = r
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Backend, b.Backend),
			cmp.Compare(a.key(), b.key()))
	})
}

// line is what the runs of one scenario are together: sums of IDs, and the longest times.
type line struct {
	Result
	backends []string
	runs     map[string]int // by their outcome
}

func (l *line) add(r Result) {
	l.Scenario = r.Scenario
	l.backends = append(l.backends, r.Backend)
	l.IDs, l.Duplicates = l.IDs+r.IDs, l.Duplicates+r.Duplicates
	l.Interruption, l.Recovery = max(l.Interruption, r.Interruption), max(l.Recovery, r.Recovery)
	l.Took = max(l.Took, r.Took)
	l.runs[r.Outcome()]++
}

// result is the outcome of all runs, or how many have passed.
func (l *line) result() string {
	for outcome, n := range l.runs {
		if n == len(l.backends) {
			return outcome
		}
	}
	return fmt.Sprintf("**%d of %d**", l.runs["passed"], len(l.backends))
}

// Report writes the latest results as a table in Markdown, with a line for each scenario, and below
// it what all of them are together and what failed.
func Report(w io.Writer, results []Result) error {
	rows := Latest(results)
	var b strings.Builder
	b.WriteString("| scenario | back ends | IDs issued | duplicates | interruption " +
		"| time to recover | took | result |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|--:|---|\n")
	var ids, duplicates uint64
	var from, to time.Time
	var commits []string
	count := map[string]int{}
	for i, l := 0, (*line)(nil); i < len(rows); i++ {
		if l == nil || l.Scenario != rows[i].Scenario {
			l = &line{runs: map[string]int{}}
		}
		l.add(rows[i])
		if i+1 == len(rows) || rows[i+1].Scenario != l.Scenario {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n",
				l.Scenario, strings.Join(l.backends, " "), grouped(l.IDs), grouped(l.Duplicates),
				short(l.Interruption), short(l.Recovery), short(l.Took), l.result())
		}
	}
	for _, r := range rows {
		ids, duplicates = ids+r.IDs, duplicates+r.Duplicates
		count[r.Outcome()]++
		if from.IsZero() || r.Began.Before(from) {
			from = r.Began
		}
		if ended := r.Began.Add(r.Took); ended.After(to) {
			to = ended
		}
		commits = append(commits, r.Commit)
	}
	slices.Sort(commits)
	fmt.Fprintf(&b, "\n%d runs, %d passed; %s IDs and %s duplicates. %s to %s (%s); commit %s.\n",
		len(rows), count["passed"], grouped(ids), grouped(duplicates),
		from.Format("2006-01-02 15:04"), to.Format("15:04 MST"), short(to.Sub(from)),
		strings.Join(slices.Compact(commits), ", "))
	for _, r := range rows {
		for _, f := range r.Failures {
			fmt.Fprintf(&b, "\n- %s on %s: %s (journals: %s)", r.Scenario, r.Backend,
				strings.ReplaceAll(f, "\n", "\n  "), r.Kept)
		}
		if r.Skipped != "" {
			fmt.Fprintf(&b, "\n- %s on %s was not run: %s", r.Scenario, r.Backend, r.Skipped)
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// grouped prints a number with a comma for each thousand.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short prints a duration with a resolution that fits it.
func short(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
