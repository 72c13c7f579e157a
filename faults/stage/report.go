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

// total returns the sums of IDs of some runs and the longest times, and how many have passed.
func total(runs []Result) (sum Result, passed int) {
	for _, r := range runs {
		sum.IDs, sum.Duplicates = sum.IDs+r.IDs, sum.Duplicates+r.Duplicates
		sum.Interruption = max(sum.Interruption, r.Interruption)
		sum.Recovery, sum.Took = max(sum.Recovery, r.Recovery), max(sum.Took, r.Took)
		if r.Passed() {
			passed++
		}
	}
	return sum, passed
}

// row returns the row of a scenario with these runs, at least one.
func row(runs []Result) string {
	sum, passed := total(runs)
	var backends []string
	result := runs[0].Outcome()
	for _, r := range runs {
		backends = append(backends, r.Backend)
		if r.Outcome() != runs[0].Outcome() {
			result = fmt.Sprintf("**%d of %d**", passed, len(runs))
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", runs[0].Scenario,
		strings.Join(backends, " "), grouped(sum.IDs), grouped(sum.Duplicates), short(sum.Interruption),
		short(sum.Recovery), short(sum.Took), result)
}

// Report writes the latest results as a table in Markdown, with a line for each scenario, and below
// it what all of them are together and what failed.
func Report(w io.Writer, results []Result) error {
	all := Latest(results)
	var b strings.Builder
	b.WriteString("| scenario | back ends | IDs issued | duplicates | interruption " +
		"| time to recover | took | result |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|--:|---|\n")
	for rest := all; len(rest) > 0; {
		n := slices.IndexFunc(append(rest, Result{}), func(r Result) bool {
			return r.Scenario != rest[0].Scenario
		})
		b.WriteString(row(rest[:n]))
		rest = rest[n:]
	}
	sum, passed := total(all)
	var from, to time.Time
	var commits []string
	for _, r := range all {
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
		len(all), passed, grouped(sum.IDs), grouped(sum.Duplicates), from.Format("2006-01-02 15:04"),
		to.Format("15:04 MST"), short(to.Sub(from)), strings.Join(slices.Compact(commits), ", "))
	for _, r := range all {
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
