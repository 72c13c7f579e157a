package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unalike-id/unalike/internal/verify"
)

// findings counts what is wrong, and IDs out of order if these are wrong.
func findings(r *verify.Report, ordered bool) []string {
	var out []string
	add := func(n int64, what string) {
		if n > 0 {
			out = append(out, group(fmt.Sprint(n))+" "+what)
		}
	}
	add(r.Duplicates, plural(r.Duplicates, "duplicate"))
	add(r.Outside, "outside the layout or --workers")
	add(r.Early, "too early")
	add(r.TooLate, "too late")
	add(r.NeverGranted, "of worker IDs that were never granted")
	add(r.AfterWindow, "after the last window")
	add(r.Unreadable, "unreadable")
	if ordered {
		add(r.OutOfOrder, "out of order")
	}
	return out
}

// plural returns what n of something are called.
func plural(n int64, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}

// verifyText is the report for people.
func verifyText(r *verify.Report, o *verifyOptions, held holders) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", group(fmt.Sprint(r.IDs)), plural(r.IDs, "ID"))
	if !o.plain {
		fmt.Fprintf(&b, " of %s %s", group(fmt.Sprint(len(r.Workers))),
			plural(int64(len(r.Workers)), "worker ID"))
	}
	found := findings(r, true)
	switch {
	case r.IDs == 0 && len(found) == 0:
		found = []string{"nothing was verified"}
	case len(found) == 0:
		found = []string{"nothing is wrong"}
	}
	fmt.Fprintf(&b, ": %s\n", strings.Join(found, ", "))
	for _, c := range r.Clashes {
		b.WriteString(clashText(c, held))
	}
	if more := r.Duplicates - int64(len(r.Clashes)); more > 0 {
		fmt.Fprintf(&b, "... and %s more %s; --show %d shows all\n", group(fmt.Sprint(more)),
			plural(more, "duplicate"), r.Duplicates)
	}
	for _, c := range r.Causes {
		fmt.Fprintf(&b, "possible cause: %s (%s)\n", c.Kind, c.Why)
	}
	for _, e := range r.Examples {
		if e.Kind == verify.KindOrder && !o.ordered {
			continue
		}
		if e.Place != (verify.Place{}) {
			fmt.Fprintf(&b, "%v: ", e.Place)
		}
		b.WriteString(e.Text + "\n")
	}
	if len(r.Workers) > 0 {
		b.WriteString(workerTable(r.Workers))
	}
	if r.Unattributed > 0 {
		fmt.Fprintf(&b, "... and %s %s of more worker IDs, whose order is unknown; is "+
			"--layout theirs?\n", group(fmt.Sprint(r.Unattributed)), plural(r.Unattributed, "ID"))
	}
	return []byte(b.String())
}

// clashText describes an ID that occurs more than once.
func clashText(c verify.Clash, held holders) string {
	text := fmt.Sprintf("%d occurs %d times", c.ID, c.Times)
	if p := c.Parts; p != nil {
		text += ": " + string(appendParts(nil, *p))
	}
	var places []string
	for _, p := range c.Places {
		places = append(places, p.String())
	}
	if len(places) > 0 {
		text += "\n  at " + strings.Join(places, ", ")
	}
	if more := c.Times - int64(len(places)); len(places) > 0 && more > 0 {
		text += fmt.Sprintf(" and %s more", group(fmt.Sprint(more)))
	}
	if who := held.describe(c); who != "" {
		text += "\n  " + who
	}
	return text + "\n"
}

// tableRows is how many worker IDs are shown at most.
const tableRows = 20

// workerTable shows the worker IDs: those with the most duplicates first, then those with the most
// IDs.
func workerTable(all []verify.Worker) string {
	rows := slices.Clone(all)
	slices.SortStableFunc(rows, func(a, b verify.Worker) int {
		return cmp.Or(cmp.Compare(b.Duplicates, a.Duplicates), cmp.Compare(b.IDs, a.IDs))
	})
	text := []byte("WORKER ID\tIDS\tFROM\tTO\tDUPLICATES\tOUT OF ORDER\n")
	for _, r := range rows[:min(len(rows), tableRows)] {
		text = fmt.Appendf(text, "%d\t%d\t%s\t%s\t%d\t%d\n", r.WorkerID, r.IDs,
			r.First.Format(timeForm), r.Last.Format(timeForm), r.Duplicates, r.OutOfOrder)
	}
	text = columns(text)
	if more := len(rows) - tableRows; more > 0 {
		text = fmt.Appendf(text, "... and %s more %s; --json shows all\n", group(fmt.Sprint(more)),
			plural(int64(more), "worker ID"))
	}
	return string(text)
}
