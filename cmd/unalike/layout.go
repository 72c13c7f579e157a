package main

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/core"
)

// layoutCommand returns the command that explains a layout.
func (a *app) layoutCommand() *cobra.Command {
	names := strings.Join(core.LayoutNames(), ", ")
	return &cobra.Command{
		Use:   "layout [LAYOUT]",
		Short: "Print what a layout holds and when it ends",
		Long: `layout prints the bits of a layout, how many IDs it gives a worker and a fleet, and
when its time bits are spent. LAYOUT is a name (` + names + `) or a
fingerprint: time, worker and sequence bits, unit and epoch, separated by slashes.`,
		Example: `  unalike layout
  unalike layout javascript
  unalike layout 40/8/15/10ms/2025-01-01T00:00:00Z`,
		Args:              arguments(0, 1, "one layout at most"),
		ValidArgsFunction: cobra.FixedCompletions(core.LayoutNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := a.envLayout()
			if len(args) == 1 {
				if l, err = core.ParseLayout(args[0]); err != nil {
					return usageError{err}
				}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.out, describeLayout(l, time.Now()))
			return err
		},
	}
}

// describeLayout returns the whole description of l, as of now.
func describeLayout(l core.Layout, now time.Time) string {
	var b strings.Builder
	perWorker := big.NewRat(int64(l.SequencesPerTick())*int64(time.Second/time.Millisecond),
		l.Unit.Milliseconds())
	perFleet := new(big.Rat).Mul(perWorker, big.NewRat(int64(l.Workers()), 1))
	fmt.Fprintf(&b, "%s\n\n%s\n", l, bitDiagram(l))
	for _, row := range [][2]string{
		{"worker IDs", fmt.Sprintf("%s, 0 to %d", group(fmt.Sprint(l.Workers())), l.Workers()-1)},
		{"IDs per worker", fmt.Sprintf("%s in %v, %s a second", group(fmt.Sprint(l.SequencesPerTick())),
			l.Unit, rate(perWorker))},
		{"IDs of the fleet", rate(perFleet) + " a second"},
		{"first moment", l.Epoch.UTC().Format(timeForm) + describeEpoch(l.Epoch, now)},
		{"expires", l.Expires().Format(timeForm) + ", " + describeEnd(l.Expires(), now)},
		{"largest ID", fmt.Sprint(l.MaxID().Int64())},
		{"fingerprint", l.String()},
	} {
		fmt.Fprintf(&b, "%-16s  %s\n", row[0], row[1])
	}
	return b.String()
}

// describeEpoch says if an epoch is still to come.
func describeEpoch(epoch, now time.Time) string {
	if !epoch.After(now) {
		return ""
	}
	return ", which is in the future: no IDs can be made before it"
}

// bitDiagram draws the 64 bits, one character each, and explains the characters.
func bitDiagram(l core.Layout) string {
	unused := 64 - int(l.TimeBits) - int(l.WorkerBits) - int(l.SequenceBits)
	var b strings.Builder
	b.WriteString("63      55      47      39      31      23      15      7      0\n")
	b.WriteString("|       |       |       |       |       |       |       |      |\n")
	for _, field := range []struct {
		mark string
		bits int
	}{{"0", unused}, {"t", int(l.TimeBits)}, {"w", int(l.WorkerBits)}, {"s", int(l.SequenceBits)}} {
		b.WriteString(strings.Repeat(field.mark, field.bits))
	}
	b.WriteString("\n\n")
	fmt.Fprintf(&b, "0  %2d  always 0\n", unused)
	fmt.Fprintf(&b, "t  %2d  time in units of %v\n", l.TimeBits, l.Unit)
	fmt.Fprintf(&b, "w  %2d  worker ID\n", l.WorkerBits)
	fmt.Fprintf(&b, "s  %2d  sequence number within the unit\n", l.SequenceBits)
	return b.String()
}

// rate prints a number that need not be whole.
func rate(r *big.Rat) string {
	if r.IsInt() {
		return group(r.Num().String())
	}
	return "about " + strings.TrimRight(strings.TrimRight(r.FloatString(3), "0"), ".")
}

// group puts commas between the thousands of a whole number.
func group(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// describeEnd says how far end is from now.
func describeEnd(end, now time.Time) string {
	days := (end.Unix() - now.Unix()) / (24 * 60 * 60)
	switch {
	case !end.After(now):
		return "which is past"
	case days >= 2*366:
		return fmt.Sprintf("in %s years", group(fmt.Sprint(int64(float64(days)/365.2425))))
	}
	return fmt.Sprintf("in %d days", days)
}
