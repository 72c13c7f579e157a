package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/verify"
)

// holders says what a coordinator knows of worker IDs; nil: none was asked.
type holders map[int]coord.Slot

// holders asks the coordinator that o names.
func (a *app) holders(ctx context.Context, o *verifyOptions) (holders, error) {
	p := place{from: "--coordinator", rawURL: o.coordinator, typed: true}
	n, err := a.openNamespace(ctx, p, mustExist)
	if err != nil {
		return nil, err
	}
	known := holders{}
	return known, a.with(n, func() error {
		l, err := n.lister()
		if err != nil {
			return err
		}
		slots, err := l.List(ctx)
		for _, s := range slots {
			known[s.WorkerID] = s
		}
		return err
	})
}

// of returns what is known of the worker IDs of duplicates.
func (h holders) of(r *verify.Report) []coord.Slot {
	var out []coord.Slot
	for _, w := range r.Workers {
		if s, ok := h[w.WorkerID]; ok && w.Duplicates > 0 {
			out = append(out, s)
		}
	}
	return out
}

// says tells who had the worker ID of a duplicate.
func (h holders) says(c verify.Clash) string {
	s, ok := h[c.WorkerID]
	switch {
	case h == nil:
		return ""
	case !ok:
		return fmt.Sprintf("worker ID %d was never granted there: whoever made the ID did not lease it from this coordinator", c.WorkerID)
	case !c.Time.Before(s.Until):
		return fmt.Sprintf("the ID is later than every window of worker ID %d, which end at %s: whoever made it did not lease it from this coordinator, or the coordinator has lost data",
			c.WorkerID, s.Until.UTC().Format(timeForm))
	case c.Time.Before(s.Since):
		return fmt.Sprintf("made before worker ID %d was granted to %q at %s, with generation %d", c.WorkerID, s.Holder, s.Since.UTC().Format(timeForm), s.Generation)
	}
	return fmt.Sprintf("worker ID %d was granted to %q at %s, with generation %d; it is %s", c.WorkerID, s.Holder, s.Since.UTC().Format(timeForm), s.Generation, s.State)
}

// wrong counts what is wrong, in words.
func wrong(r *verify.Report, ordered bool) []string {
	var out []string
	for _, k := range []struct {
		n    int64
		what string
	}{
		{r.Duplicates, "occur more than once"},
		{r.Outside, "cannot have been made with this layout or worker IDs"},
		{r.Early, "are too early"},
		{r.Late, "lie in the future"},
		{r.Unreadable, "cannot be read"},
	} {
		if k.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", k.n, k.what))
		}
	}
	if ordered && r.OutOfOrder > 0 {
		out = append(out, fmt.Sprintf("%d follow a larger one of the same worker ID", r.OutOfOrder))
	}
	return out
}

// verifyText is the report for people.
func verifyText(r *verify.Report, o *verifyOptions, held holders) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%d IDs", r.IDs)
	if !o.plain {
		fmt.Fprintf(&b, " of %d worker IDs", len(r.Workers))
	}
	all := wrong(r, true)
	if len(all) == 0 {
		all = []string{"nothing is wrong"}
	}
	fmt.Fprintf(&b, ": %s\n", strings.Join(all, ", "))
	for _, c := range r.Clashes {
		b.WriteString(clashText(c, o, held))
	}
	if more := r.Duplicates - int64(len(r.Clashes)); more > 0 {
		fmt.Fprintf(&b, "and %d more that occur more than once; --show shows more\n", more)
	}
	for _, c := range r.Causes {
		fmt.Fprintf(&b, "possible cause: %s (%s)\n", c.Kind, c.Why)
	}
	for _, e := range r.Examples {
		if e.Kind != "out of order" || o.ordered {
			fmt.Fprintf(&b, "%v: %s\n", e.Place, e.Text)
		}
	}
	if !o.plain {
		b.WriteString(workerTable(r.Workers))
	}
	return []byte(b.String())
}

// clashText describes an ID that occurs more than once.
func clashText(c verify.Clash, o *verifyOptions, held holders) string {
	text := fmt.Sprintf("%d occurs %d times", c.ID, c.Times)
	if !c.Time.IsZero() {
		text += fmt.Sprintf(": %s  worker %d  sequence %d", c.Time.Format(timeForm), c.WorkerID, c.Sequence)
	}
	for i, p := range c.Places {
		text += map[bool]string{true: "  at ", false: ", "}[i == 0] + p.String()
	}
	if says := held.says(c); says != "" && !o.plain {
		text += "\n  " + says
	}
	return text + "\n"
}

// tableRows is how many worker IDs are shown.
const tableRows = 20

// workerTable shows the worker IDs: those with duplicates first, then those with the most
// IDs.
func workerTable(all []verify.Worker) string {
	rows := slices.Clone(all)
	slices.SortStableFunc(rows, func(a, b verify.Worker) int {
		if (a.Duplicates > 0) != (b.Duplicates > 0) {
			return map[bool]int{true: -1, false: 1}[a.Duplicates > 0]
		}
		return int(min(max(b.IDs-a.IDs, -1), 1))
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WORKER\tIDS\tFROM\tTO\tIDS/S\tMOST A TICK\tDUPLICATES\tOUT OF ORDER")
	for _, r := range rows[:min(len(rows), tableRows)] {
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%.0f\t%d\t%d\t%d\n", r.WorkerID, r.IDs, r.First.Format(timeForm), r.Last.Format(timeForm), r.PerSecond, r.MostATick, r.Duplicates, r.OutOfOrder)
	}
	_ = w.Flush() // into memory
	if more := len(rows) - tableRows; more > 0 {
		fmt.Fprintf(&b, "and %d more worker IDs; --json has all\n", more)
	}
	return b.String()
}
