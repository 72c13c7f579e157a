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
		if o.Problem() != "" {
			missed++
		}
		for _, t := range o.Trials {
			t.row(&b, o.Mutant.Name)
		}
	}
	fmt.Fprintf(&b, "\n%d mutants, %d not noticed.\n", len(outcomes), missed)
	for _, o := range outcomes {
		if problem := o.Problem(); problem != "" {
			fmt.Fprintf(&b, "\n- %s (%s): %s\n", o.Mutant.Name, o.Mutant.About, strings.ReplaceAll(problem, "\n", "\n  "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// row writes the line of a trial.
func (t *Trial) row(b *strings.Builder, mutant string) {
	found, after, without := "**NOTHING**", "", "not run"
	if noticed(t.With) {
		found = strings.Join(t.With.Found, ", ")
	}
	if t.With.Took > 0 {
		after = seconds(t.With.Took)
	}
	switch {
	case t.Without.Passed() && t.Without.IDs > 0:
		without = fmt.Sprintf("passes after %s", seconds(t.Without.Took))
	case len(t.Without.Failures) > 0:
		without = "**FAILS**"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %d | %s | %s |\n", mutant, t.Run, found, t.With.Duplicates, after, without)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
