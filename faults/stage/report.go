package stage

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report writes results as a table in Markdown, the latest one of each scenario on each back end, and what
// failed below it.
func Report(w io.Writer, results []Result) error {
	latest := map[string]Result{}
	for _, r := range results {
		latest[r.key()] = r
	}
	rows := make([]Result, 0, len(latest))
	for _, r := range latest {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.key(), b.key()))
	})
	var b strings.Builder
	b.WriteString("| | scenario | back end | IDs issued | duplicates | interruption | time to recover | took | result |\n")
	b.WriteString("|--:|---|---|--:|--:|--:|--:|--:|---|\n")
	var ids, duplicates uint64
	failed, skipped := 0, 0
	for _, r := range rows {
		ids += r.IDs
		if !r.Expected {
			duplicates += r.Duplicates
		}
		result := "passed"
		switch {
		case len(r.Failures) > 0:
			result = "**FAILED**"
			failed++
		case r.Skipped != "":
			result = "not run"
			skipped++
		case r.Expected:
			result = "passed: duplicates are expected"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Number, r.Scenario, r.Backend, grouped(r.IDs), grouped(r.Duplicates), short(r.Interruption), short(r.Recovery), short(r.Took), result)
	}
	fmt.Fprintf(&b, "\n%d runs, %d failed, %d not run; %s IDs, %s duplicates where none are expected.\n", len(rows), failed, skipped, grouped(ids), grouped(duplicates))
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
