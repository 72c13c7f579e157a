package mutants

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report writes outcomes as a table in Markdown, and below it why mutants were not noticed.
func Report(w io.Writer, outcomes []Outcome) error {
	var b strings.Builder
	b.WriteString("| mutant | run | found | IDs issued twice | after | without the mutant |\n")
	b.WriteString("|---|---|---|--:|--:|---|\n")
	missed := 0
	for _, o := range outcomes {
		found, after, without := "**NOTHING**", "", "not run"
		if noticed(o.With) {
			found = strings.Join(o.With.Found, ", ")
		}
		if o.With.Took > 0 {
			after = seconds(o.With.Took)
		}
		switch {
		case o.Without.Passed() && o.Without.IDs > 0:
			without = fmt.Sprintf("passes after %s", seconds(o.Without.Took))
		case len(o.Without.Failures) > 0:
			without = "**FAILS**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s |\n", o.Mutant.Name, o.Run, found, o.With.Duplicates, after, without)
		if o.Problem != "" {
			missed++
		}
	}
	fmt.Fprintf(&b, "\n%d mutants, %d not noticed.\n", len(outcomes), missed)
	for _, o := range outcomes {
		if o.Problem != "" {
			fmt.Fprintf(&b, "\n- %s (%s): %s\n", o.Mutant.Name, o.Mutant.About, strings.ReplaceAll(o.Problem, "\n", "\n  "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
