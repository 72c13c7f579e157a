package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/internal/verify"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	namespaceOptions
	format           choiceValue
	column, temp     string
	plain, ordered   bool
	json             bool
	workers          workersValue
	earliest, latest timeValue
	memory           memoryValue
	shown            countValue
}

// aheadAllowed is how far IDs may be ahead of this machine's clock unless --latest says
// more: clocks differ, and a generator may borrow from the future.
const aheadAllowed = time.Minute

// verifyCommand returns the command that looks for duplicates.
func (a *app) verifyCommand() *cobra.Command {
	o := verifyOptions{
		format: choiceValue{formatAuto, append([]string{formatAuto}, formats()...), "FORMAT"},
		memory: 256 << 20, shown: 10,
	}
	c := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Look for duplicate and impossible IDs",
		Long: `verify reads IDs, one a line or a column of a CSV, from files or from the standard
input, and reports:

- IDs that occur more than once: what they are made of, where they stand, and what may
  have caused them (the same worker ID twice, a clock that was stepped back, a restart
  after a burst, different layouts, lines that were copied)
- IDs that cannot be: larger than the layout allows, stamped before --earliest or after
  --latest, of worker IDs that are not among --workers; and lines that are no IDs
- for each worker ID how many IDs it has, from when to when, and how fast
- IDs that follow a larger one of the same worker ID. Where IDs stand in the order in
  which they were made, there is none; with --ordered one is a failure

With --coordinator, it says of each duplicate who holds its worker ID, or held it last.

Any number of IDs is read in bounded memory (--memory): what that does not hold is
sorted in temporary files (--temp), which take 1 to 8 bytes an ID. With --plain the IDs are numbers
without a layout, of which only duplicates are looked for.

The exit code is 0 if nothing is wrong, and 1 if something is.`,
		Example: `  unalike verify ids.txt
  psql -c "copy (select id from orders) to stdout" | unalike verify
  unalike verify --column order_id --coordinator etcd://localhost:2379/orders orders.csv
  unalike generate --count 1000000 | unalike verify --ordered`,
		Args: arguments(0, math.MaxInt, "files, or none for the standard input"),
		RunE: func(c *cobra.Command, args []string) error { return a.verify(c, args, &o) },
	}
	addNamespaceFlags(c, &o.namespaceOptions)
	c.Flags().Lookup("coordinator").Usage = "`URL` of the coordinator that knows who had which worker ID (default: none is asked)"
	addChoiceFlag(c, &o.format, "format", "format of the IDs")
	c.Flags().StringVar(&o.column, "column", "", "`NAME` of the column that has the IDs, of CSV files with a header")
	c.Flags().BoolVar(&o.plain, "plain", false, "plain numbers: look for duplicates only")
	c.Flags().BoolVar(&o.ordered, "ordered", false, "the IDs of each worker ID have to be in ascending order")
	c.Flags().Var(&o.workers, "workers", "worker IDs that there may be, for example 0-511 (default: all of the layout)")
	c.Flags().Var(&o.earliest, "earliest", "when the first ID can have been stamped (default: the layout's epoch)")
	c.Flags().Var(&o.latest, "latest", "when the last ID can have been stamped (default: a minute from now)")
	c.Flags().Var(&o.memory, "memory", "how much memory to sort in, from 1MiB on")
	c.Flags().StringVar(&o.temp, "temp", "", "`FOLDER` for temporary files (default: the system's)")
	c.Flags().Var(&o.shown, "show", "how many duplicates and other findings to show in detail")
	c.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return c
}

// verify reads the files and prints what is wrong with their IDs.
func (a *app) verify(c *cobra.Command, args []string, o *verifyOptions) error {
	if err := checkCoordinatorFlag(c); err != nil {
		return err
	}
	if o.plain && (c.Flags().Changed("layout") || c.Flags().Changed("workers") || o.coordinator != "") {
		return usageError{errors.New("--plain is for numbers without a layout; leave --layout, --workers and --coordinator out, or --plain")}
	}
	cfg, err := a.settings(c, &o.namespaceOptions)
	if err != nil {
		return err
	}
	o.layout.Layout = cfg.Layout
	options, err := a.checks(o)
	if err != nil {
		return err
	}
	sources, size, err := a.sources(args)
	if err != nil {
		return err
	}
	var report *verify.Report
	var held holders
	err = untilStopped(c.Context(), func(ctx context.Context) (err error) {
		if o.coordinator != "" {
			if held, err = a.holders(ctx, o); err != nil {
				return err
			}
		}
		bar := a.showProgress(&options, size)
		defer bar.finish()
		report, err = verify.Check(ctx, sources, options)
		return err
	})
	if err != nil {
		return err
	}
	text := verifyText(report, o, held)
	if o.json {
		if text, err = verifyJSON(report, held); err != nil {
			return err
		}
	}
	if err := a.write(text); err != nil {
		return err
	}
	if !report.Sound(o.ordered) {
		return errors.New("something is wrong with the IDs: " + strings.Join(wrong(report, o.ordered), ", "))
	}
	return nil
}

// checks are the options of what is looked for.
func (a *app) checks(o *verifyOptions) (verify.Options, error) {
	out := verify.Options{
		Memory: int64(o.memory), Temp: o.temp, Shown: int(o.shown),
		Format: verify.Format{
			Column: o.column,
			Digits: o.format.value == formatAuto || o.format.value == formatDecimal,
			Parse: func(text string) (uint64, error) {
				id, err := readID(text, o.format.value)
				return uint64(id), err //nolint:gosec // an ID is not negative
			},
		},
	}
	if o.plain {
		return out, nil
	}
	layout := o.layout.Layout
	out.Layout, out.Latest, out.Earliest = &layout, o.latest.Time, o.earliest.Time
	if out.Latest.IsZero() {
		out.Latest = time.Now().Add(aheadAllowed)
	}
	if out.Earliest.After(out.Latest) {
		return out, usageError{fmt.Errorf("--earliest %v is after --latest %v", &o.earliest, out.Latest.UTC().Format(time.RFC3339Nano))}
	}
	out.FirstWorker, out.LastWorker = 0, layout.Workers()-1
	if o.workers.given {
		if o.workers.last >= layout.Workers() {
			return out, usageError{fmt.Errorf("--workers %v: layout %v has worker IDs 0 to %d", &o.workers, layout, layout.Workers()-1)}
		}
		out.FirstWorker, out.LastWorker = o.workers.first, o.workers.last
	}
	return out, nil
}

// sources opens files by their names; none, or -, is the standard input. Size is how many
// bytes they have together; -1: that is not known.
func (a *app) sources(names []string) (all []verify.Source, size int64, _ error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if name == "-" {
			all = append(all, verify.Source{Name: "stdin", Open: func() (io.ReadCloser, error) { return io.NopCloser(a.in), nil }})
			size = -1
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, 0, err
		case info.IsDir():
			return nil, 0, fmt.Errorf("%s is a folder; name its files", name)
		case !info.Mode().IsRegular():
			size = -1
		case size >= 0:
			size += info.Size()
		}
		all = append(all, verify.Source{Name: name, Again: info.Mode().IsRegular(), Open: func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	return all, size, nil
}

// longInput is from how many bytes on progress is shown.
const longInput = 32 << 20

// showProgress shows how far reading and sorting are, if it takes long enough.
func (a *app) showProgress(o *verify.Options, size int64) *progress {
	if !isTerminal(a.err) || size >= 0 && size < longInput {
		return nil
	}
	p := a.bar(size, "reading", progressbar.OptionShowBytes(true))
	o.Read = p.add
	o.Sorted = func(done, all int64) {
		p.bar.Describe(fmt.Sprintf("sorted %d%% of %d IDs", 100*done/all, all))
	}
	return p
}

// workersValue is a flag for a range of worker IDs.
type workersValue struct {
	given       bool
	first, last int
}

func (*workersValue) Type() string { return "FIRST-LAST" }

func (v *workersValue) String() string {
	if !v.given {
		return ""
	}
	return fmt.Sprintf("%d-%d", v.first, v.last)
}

// Set implements pflag.Value.
func (v *workersValue) Set(s string) error {
	from, to, ok := strings.Cut(s, "-")
	first, err1 := strconv.ParseUint(from, 10, 31)
	last, err2 := strconv.ParseUint(to, 10, 31)
	if !ok || err1 != nil || err2 != nil || first > last {
		return errors.New("two worker IDs are needed, the lower one first, for example 0-511")
	}
	*v = workersValue{true, int(first), int(last)}
	return nil
}

// memoryValue is a flag for a number of bytes.
type memoryValue int64

func (*memoryValue) Type() string     { return "SIZE" }
func (v *memoryValue) String() string { return fmt.Sprintf("%dMiB", int64(*v)>>20) }

// Set implements pflag.Value.
func (v *memoryValue) Set(s string) error {
	for unit, shift := range map[string]int{"MiB": 20, "GiB": 30} {
		number, ok := strings.CutSuffix(s, unit)
		if n, err := strconv.ParseUint(number, 10, 20); ok && err == nil && n > 0 {
			*v = memoryValue(int64(n) << shift) //nolint:gosec // n has 20 bits
			return nil
		}
	}
	return errors.New("a size from 1MiB on is needed, for example 512MiB or 2GiB")
}

// verifyJSON is the report in JSON, with the holders of the worker IDs of duplicates.
func verifyJSON(r *verify.Report, held holders) ([]byte, error) {
	out := struct {
		*verify.Report
		Holders []slotObject `json:"holders,omitempty"`
	}{Report: r}
	for _, slot := range held.of(r) {
		out.Holders = append(out.Holders, newSlotObject(slot, slot.State.String(), time.Now()))
	}
	text, err := json.Marshal(out)
	return append(text, '\n'), err
}
