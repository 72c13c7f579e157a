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

// Report writes results as a table in Markdown, the latest one of each scenario on each back end, and below it the
// totals and what failed.
func Report(w io.Writer, results []Result) error {
	rows := Latest(results)
	var b strings.Builder
	b.WriteString("| | scenario | back end | IDs issued | duplicates | interruption | time to recover | took | result |\n")
	b.WriteString("|--:|---|---|--:|--:|--:|--:|--:|---|\n")
	for _, r := range rows {
		result := "passed"
		switch {
		case len(r.Failures) > 0:
			result = "**FAILED**"
		case r.Skipped != "":
			result = "not run"
		case r.Expected:
			result = "passed: duplicates are expected"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Number, r.Scenario, r.Backend, grouped(r.IDs), grouped(r.Duplicates), short(r.Interruption), short(r.Recovery), short(r.Took), result)
	}
	totals(&b, rows)
	for _, r := range rows {
		for _, f := range r.Failures {
			fmt.Fprintf(&b, "\n- %s on %s: %s", r.Scenario, r.Backend, strings.ReplaceAll(f, "\n", "\n  "))
			if r.Kept != "" {
				fmt.Fprintf(&b, " (journals: %s)", r.Kept)
			}
		}
		if r.Skipped != "" {
			fmt.Fprintf(&b, "\n- %s on %s was not run: %s", r.Scenario, r.Backend, r.Skipped)
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// Latest returns the latest result of each scenario on each back end, in the order of their numbers.
func Latest(results []Result) []Result {
	latest := map[string]Result{}
	for _, r := range results {
		latest[r.key()] = r
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.key(), b.key()))
	})
}

// totals writes what all results are together. There may be none.
func totals(b *strings.Builder, rows []Result) {
	var ids, duplicates uint64
	var failed, skipped int
	var slowest Result
	var commits, servers []string
	for _, r := range rows {
		if !r.Expected {
			ids, duplicates = ids+r.IDs, duplicates+r.Duplicates
		}
		switch {
		case len(r.Failures) > 0:
			failed++
		case r.Skipped != "":
			skipped++
		}
		if r.Recovery > slowest.Recovery {
			slowest = r
		}
		commits, servers = append(commits, r.Commit), append(servers, r.Server)
	}
	fmt.Fprintf(b, "\n%d runs, %d failed, %d not run; %s IDs and %s duplicates where none are expected.\n", len(rows), failed, skipped, grouped(ids), grouped(duplicates))
	if slowest.Recovery > 0 {
		fmt.Fprintf(b, "The longest time to recover is %s, of %s on %s.\n", short(slowest.Recovery), slowest.Scenario, slowest.Backend)
	}
	if len(rows) > 0 {
		from, to, busy := duration(rows)
		fmt.Fprintf(b, "%s to %s, %s of that with runs", from.Format("2006-01-02 15:04"), to.Format("2006-01-02 15:04 MST"), short(busy))
		for _, text := range slices.Concat(different(commits, "commit "), different(servers, "")) {
			b.WriteString("; " + text)
		}
		b.WriteString(".\n")
	}
}

// different returns the texts that are not empty, each once, with something before each.
func different(texts []string, before string) (all []string) {
	slices.Sort(texts)
	for _, t := range slices.Compact(texts) {
		if t != "" {
			all = append(all, before+t)
		}
	}
	return all
}

// duration returns when the first of the results began and the last one ended, and for how long between that there
// was a run: several at a time count once.
func duration(rows []Result) (from, to time.Time, busy time.Duration) {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b Result) int { return a.Began.Compare(b.Began) })
	from, to = rows[0].Began, rows[0].Began
	for _, r := range rows {
		if ended := r.Began.Add(r.Took); ended.After(to) {
			busy += min(r.Took, ended.Sub(to))
			to = ended
		}
	}
	return from, to, busy
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
	switch {
	case d == 0:
		return ""
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
