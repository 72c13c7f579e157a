package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

const (
	// batchSize is how many IDs are taken and written at once.
	batchSize = 4096
	// releaseTimeout bounds how long the end of the program waits for a coordinator
	// to take the worker ID back.
	releaseTimeout = 5 * time.Second
)

// generateOptions are the flags of generate.
type generateOptions struct {
	count       countValue
	coordinator string
	layout      layoutValue
	format      choiceValue
	explain     bool
}

// generateCommand returns the command that makes IDs.
func (a *app) generateCommand() *cobra.Command {
	o := generateOptions{count: 1, format: choiceValue{formatDecimal, formats(), "FORMAT"}}
	c := &cobra.Command{
		Use:   "generate",
		Short: "Make new IDs, one a line",
		Long: `generate leases a worker ID from a coordinator, prints new IDs, one a line and in
ascending order, and gives the worker ID back.

Without --coordinator and ` + envCoordinator + `, it uses worker ID 0 with a state file in the
user's data folder. Its IDs are then unique among all runs by this user on this
machine with the same layout, and one process can run at a time. The first run, and
the first after a crash, waits up to three seconds, so that an earlier run's IDs
cannot come again.

An interrupt prints what was made so far, gives the worker ID back, and exits with
128 plus the signal's number.`,
		Example: `  unalike generate
  unalike generate --count 5 --explain
  unalike generate --count 1000000 --format base62 > ids.txt
  unalike generate --coordinator 'static://?worker=7&state=/var/lib/app/unalike.state'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkCoordinatorFlag(c); err != nil {
				return err
			}
			return a.generate(c.Context(), &o)
		},
	}
	c.Flags().VarP(&o.count, "count", "n", "how many IDs to make")
	c.Flags().StringVar(&o.coordinator, "coordinator", "", "`URL` of the coordinator that leases the worker ID (default: $"+envCoordinator+", else worker 0 on this machine)")
	addLayoutFlag(c, &o.layout)
	addChoiceFlag(c, &o.format, "format", "how to print an ID")
	c.Flags().BoolVar(&o.explain, "explain", false, "print time, worker ID and sequence number beside each ID")
	completeCoordinator(c)
	return c
}

// generate prints the IDs that o asks for. After a signal it tidies up and returns
// that as its error.
func (a *app) generate(ctx context.Context, o *generateOptions) error {
	return untilStopped(ctx, func(ctx context.Context) error { return a.generateUntil(ctx, o) })
}

// generateUntil is generate until ctx ends.
func (a *app) generateUntil(ctx context.Context, o *generateOptions) (err error) {
	log := a.logger()
	c, err := a.openCoordinator(ctx, o.coordinator, o.layout.Layout)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(log, err, c.Close(), "closing the coordinator") }()
	g, err := core.New(ctx, c, core.Config{Layout: o.layout.Layout, Logger: log})
	if err != nil {
		return err
	}
	defer func() {
		// The worker ID goes back even if ctx has ended.
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		err = firstOf(log, err, g.Close(tidy), "giving the worker ID back")
	}()
	p := printer{format: o.format.value, layout: o.layout.Layout, explain: o.explain}
	return a.writeIDs(ctx, g, p, int64(o.count))
}

// firstOf returns err, the reason why a run ended, or if that is nil, what went wrong
// while tidying up after it. Where both did, the second is logged.
func firstOf(log *slog.Logger, err, tidying error, doing string) error {
	switch {
	case tidying == nil:
		return err
	case err == nil:
		return fmt.Errorf("%s: %w", doing, tidying)
	}
	log.Warn(doing+" failed", "error", tidying)
	return err
}

// source is the part of a generator that writeIDs needs.
type source interface {
	Fill(ctx context.Context, dst []core.ID) (n int, err error)
}

// writeIDs takes count IDs from g and writes them. Every ID that was taken is
// written, whatever ends the run, unless writing itself fails.
func (a *app) writeIDs(ctx context.Context, g source, p printer, count int64) error {
	progress := a.newProgress(count)
	defer progress.finish()
	ids := make([]core.ID, min(count, batchSize))
	text := make([]byte, 0, 64*len(ids))
	for left := count; left > 0; {
		n, err := g.Fill(ctx, ids[:min(left, int64(len(ids)))])
		if werr := a.writeBatch(text, p, ids[:n]); werr != nil {
			return errors.Join(werr, err)
		}
		left -= int64(n)
		progress.add(n)
		if err != nil {
			return fmt.Errorf("after %d of %d IDs: %w", count-left, count, err)
		}
	}
	return nil
}

// writeBatch writes ids with a single write, using the memory of text.
func (a *app) writeBatch(text []byte, p printer, ids []core.ID) error {
	for _, id := range ids {
		var err error
		if text, err = p.appendLine(text, id); err != nil {
			return err
		}
	}
	if len(text) == 0 {
		return nil
	}
	if _, err := a.out.Write(text); err != nil {
		return fmt.Errorf("writing IDs: %w", err)
	}
	return nil
}

// completeCoordinator makes the shell offer the schemes that have a driver.
func completeCoordinator(c *cobra.Command) { completeURL(c, "coordinator") }

// completeURL does so for any flag that is a coordinator's URL.
func completeURL(c *cobra.Command, flag string) {
	var urls []string
	for _, scheme := range coord.Schemes() {
		if scheme == "static" {
			urls = append(urls, "static://?worker=", "static://?worker=hostname&state=")
			continue
		}
		urls = append(urls, scheme+"://")
	}
	err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(urls, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	if err != nil {
		c.PrintErrln("unalike: completion of --"+flag+":", err)
	}
}
