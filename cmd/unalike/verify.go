package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/internal/verify"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	namespaceOptions
	format           choiceValue
	column           string
	plain, ordered   bool
	json             bool
	workers          rangeValue
	earliest, latest timeValue
	memory, shown    countValue
}

// aheadAllowed is how far IDs may be ahead of this machine's clock unless --latest says otherwise:
// clocks differ, and a generator may borrow from the future.
const aheadAllowed = time.Minute

// verifyCommand returns the command that looks for duplicates.
func (a *app) verifyCommand() *cobra.Command {
	o := verifyOptions{
		workers:  newValue("FIRST-LAST", (*verify.WorkerRange)(nil), parseWorkers),
		earliest: newValue("TIME", time.Time{}, parseTime),
		latest:   newValue("TIME", time.Time{}, parseTime),
		memory:   newValue("MIB", int64(256), parseMemory),
		shown:    newValue("N", int64(10), parseCount),
	}
	c := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Look for duplicate and impossible IDs",
		Long: `verify reads IDs, one a line or a column of a CSV, from files or from the standard
input (no file, or -), and reports:

- IDs that occur more than once: worker ID, time, where they stand, and what may have
  caused them: the same worker ID twice, a clock that was stepped back, a restart after
  a burst, different layouts, or lines that were copied
- IDs that are impossible: larger than the layout allows, stamped before --earliest or
  after --latest, with worker IDs that are not among --workers; and lines without an ID
- IDs that the coordinator did not grant: of worker IDs that it never granted, or stamped
  after the last window of their worker ID; earlier than its floor, any ID is possible
- IDs that follow a larger one of the same worker ID in the same file. These are wrong
  only with --ordered, because few tables and logs keep the order of generation
- for each worker ID how many IDs it has, and from when to when

A coordinator that --coordinator, UNALIKE_COORDINATOR or the file of --config names is
asked for its worker IDs after the IDs were read, and who holds, or held last, those of
duplicates. Without one, none is asked.

The formats are those of 'unalike decode', and may be mixed. With --plain the IDs are
numbers without a layout, and only duplicates are looked for.

Any number of IDs is read in bounded memory: --memory and up to 50 MiB. What that does
not hold is sorted in temporary files ($TMPDIR), most often of 1 to 4 bytes an ID, which
are deleted at the end. If there are duplicates, files are read a second time to find
their lines.

The exit code is 0 if nothing is wrong, and 1 if something is, or if there are no IDs.`,
		Example: `  unalike verify ids.txt
  psql -c "copy (select id from orders) to stdout" | unalike verify
  unalike verify --column order_id --coordinator etcd://localhost:2379/orders orders.csv
  unalike generate --count 1000000 | unalike verify --ordered`,
		Args: arguments(0, math.MaxInt, "files, or none for the standard input"),
		RunE: func(c *cobra.Command, args []string) error { return a.verify(c, args, &o) },
	}
	addNamespaceFlags(c, &o.namespaceOptions)
	c.Flags().Lookup(ofCoordinator).Usage = "`URL` of the coordinator that knows who held which " +
		"worker ID (default: $" + envCoordinator + ", else none)"
	addFormatFlag(c, &o.format, "format of the IDs", readable()...)
	c.Flags().StringVar(&o.column, "column", "",
		"`NAME` of the column with the IDs; the files are CSV, and their first lines name the columns")
	c.Flags().BoolVar(&o.plain, "plain", false, "plain numbers: look for duplicates only")
	c.Flags().BoolVar(&o.ordered, "ordered", false,
		"in each file, the IDs of each worker ID have to be in ascending order")
	c.Flags().Var(&o.workers, "workers",
		"worker IDs that are allowed, for example 0-511 (default: all of the layout)")
	c.Flags().Var(&o.earliest, "earliest",
		"when the first ID can have been made (default: the layout's epoch)")
	c.Flags().Var(&o.latest, "latest",
		"when the last ID can have been made (default: a minute from now)")
	c.Flags().Var(&o.memory, "memory", "how much memory to sort with, in MiB")
	c.Flags().Var(&o.shown, "show", "how many duplicates, and findings of each other kind, to show")
	c.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return c
}

// verify reads the files and prints what is wrong with their IDs.
func (a *app) verify(c *cobra.Command, args []string, o *verifyOptions) error {
	if err := checkVerifyFlags(c, o); err != nil {
		return err
	}
	cfg, err := a.settings(c, &o.namespaceOptions)
	if err != nil {
		return err
	}
	o.layout.v = cfg.Layout
	options, err := o.checks(time.Now())
	if err != nil {
		return err
	}
	sources, err := a.sources(args)
	if err != nil {
		return err
	}
	var report *verify.Report
	var held holders
	err = untilStopped(c.Context(), func(ctx context.Context) (err error) {
		if (o.coordinator != "" || cfg.Coordinator != "") && !o.plain {
			p, err := a.findCoordinator(&o.namespaceOptions, cfg)
			if err != nil {
				return err
			}
			// At first because a mistake is to be reported before the IDs are read.
			if _, _, err := a.holders(ctx, p, cfg.Layout); err != nil {
				return err
			}
			options.Grants = func(ctx context.Context) (grants verify.Grants, err error) {
				held, grants, err = a.holders(ctx, p, cfg.Layout)
				return grants, err
			}
		}
		progress := a.newProgress(a.in)
		defer progress.finish()
		options.Progress = progress.show
		report, err = verify.Check(ctx, sources, options)
		return err
	})
	if err != nil {
		return err
	}
	return a.report(report, o, held, sources)
}

// checkVerifyFlags refuses flags that do not fit together.
func checkVerifyFlags(c *cobra.Command, o *verifyOptions) error {
	for _, name := range []string{
		"layout", ofCoordinator, "config", "ordered", "workers", "earliest", "latest",
	} {
		if o.plain && c.Flags().Changed(name) {
			return usageError{fmt.Errorf("--plain is for numbers without a layout, and --%s is about the "+
				"layout; leave one of them out", name)}
		}
	}
	return nil
}

// checks returns what is looked for, as of now.
func (o *verifyOptions) checks(now time.Time) (verify.Options, error) {
	out := verify.Options{
		Memory: o.memory.v << 20, Shown: o.shown.v,
		Format: verify.Format{
			Column: o.column,
			Digits: o.format.v == formatAuto || o.format.v == formatDecimal,
			Parse: func(text string) (uint64, error) {
				id, err := readID(text, o.format.v)
				return uint64(id), err //nolint:gosec // an ID is not negative
			},
		},
	}
	if o.plain {
		return out, nil
	}
	out.Layout, out.Workers = &o.layout.v, o.workers.v
	out.Earliest, out.Latest = o.earliest.v, o.latest.v
	if out.Latest.IsZero() {
		out.Latest = now.Add(aheadAllowed)
	}
	if out.Earliest.After(out.Latest) {
		return out, usageError{fmt.Errorf("--earliest %v is after --latest %s", &o.earliest,
			out.Latest.UTC().Format(time.RFC3339Nano))}
	}
	if most := out.Layout.Workers() - 1; out.Workers != nil && out.Workers.Last > most {
		return out, usageError{fmt.Errorf("--workers %v: layout %v has worker IDs 0 to %d", &o.workers,
			out.Layout, most)}
	}
	return out, nil
}

// report prints what was found, and returns an error if something is wrong.
func (a *app) report(r *verify.Report, o *verifyOptions, held holders,
	sources []verify.Source,
) error {
	text := verifyText(r, o, held)
	if o.json {
		var err error
		if text, err = verifyJSON(r, o.ordered, held); err != nil {
			return err
		}
	}
	if err := a.write(text); err != nil {
		return err
	}
	switch {
	case !r.OK(o.ordered):
		return errors.New("something is wrong with the IDs: " + strings.Join(findings(r, o.ordered),
			", "))
	case r.IDs == 0: //mutant:verify-empty
		var names []string
		for _, src := range sources[:min(len(sources), 5)] {
			names = append(names, src.Name)
		}
		return fmt.Errorf("there are no IDs in %s", strings.Join(names, ", "))
	}
	return nil
}
