package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/internal/spelling"
	"github.com/unalike-id/unalike/segment"
)

// segmentsOptions are the flags of segments.
type segmentsOptions struct {
	storeOptions
	format   choiceValue
	watch    bool
	interval intervalValue
}

// segmentsCommand returns the command that shows and changes the tags of a store.
func (a *app) segmentsCommand() *cobra.Command {
	o := segmentsOptions{
		format:   choiceValue{formatTable, []string{formatTable, formatJSON}, "FORMAT"},
		interval: intervalValue(2 * time.Second),
	}
	c := &cobra.Command{
		Use:   "segments",
		Short: "Show the tags of a store of segments",
		Long: `segments lists the tags of a store: the next number of each, the step, when it was
changed last, and its description. It changes nothing.

--watch looks again and again until it is interrupted, and adds RATE, how many numbers
a second were taken from the store since the watch began, and LASTS, how long a segment
of the tag's step lasts at that rate.

--format json prints one object a line: tag, next, step, updated, description, and rate
with --watch.

create makes a tag, advance raises one. --config takes the store from a file, so that a
password need not stand on the command line; ` + envStore + ` wins over it, and --store over both.`,
		Example: `  unalike segments --store 'mysql://leaf:secret@db/leaf?table=leaf_alloc'
  unalike segments --config app.yaml
  unalike segments create orders --first 1 --step 1000
  unalike segments advance orders --to 500000`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("interval") && !o.watch {
				return usageError{fmt.Errorf("--interval is for --watch; add --watch, or leave it out")}
			}
			return a.withStore(c, o.storeOptions, func(ctx context.Context, s *tagStore) error {
				return a.listSegments(ctx, s, &o)
			})
		},
	}
	addStoreFlags(c, &o.storeOptions)
	addFormatFlag(c, &o.format, "how to print them")
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on, with rates")
	c.Flags().Var(&o.interval, "interval", "how often --watch looks")
	complete(c, "interval", []string{"1s", "2s", "5s", "10s", "1m"})
	c.AddCommand(a.createSegmentCommand(), a.advanceSegmentCommand())
	return c
}

// seenTag is a tag, and how it was at the first look.
type seenTag struct {
	segment.Tag
	rate  float64
	rated bool
}

// listSegments prints the tags, once or again and again.
func (a *app) listSegments(ctx context.Context, s *tagStore, o *segmentsOptions) error {
	ticks := time.NewTicker(time.Duration(o.interval))
	defer ticks.Stop()
	first, began := map[string]int64{}, time.Now()
	said := map[string]bool{}
	for {
		tags, err := s.Tags(ctx)
		if err != nil {
			return err
		}
		var all []seenTag
		for _, t := range tags {
			at, known := first[t.Name]
			if !known {
				first[t.Name] = t.Next
			}
			all = append(all, seenTag{t, float64(t.Next-at) / max(time.Since(began).Seconds(), 1), o.watch &&
				known})
		}
		if err := a.writeSegments(all, o); err != nil {
			return err
		}
		for _, t := range tags {
			if t.Damage != nil && !said[t.Damage.Error()] {
				said[t.Damage.Error()] = true
				a.complain("unalike: %v\n", t.Damage)
			}
		}
		if !o.watch {
			return nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// writeSegments prints tags in the format that o asks for.
func (a *app) writeSegments(all []seenTag, o *segmentsOptions) error {
	var b bytes.Buffer
	if o.format.value == formatJSON {
		for _, t := range all {
			line := map[string]any{
				"tag": t.Name, "next": t.Next, "step": t.Step,
				"description": t.Description, "updated": nil,
			}
			if !t.Updated.IsZero() {
				line["updated"] = t.Updated.UTC().Format(time.RFC3339)
			}
			if t.rated {
				line["rate"] = t.rate
			}
			if t.Damage != nil {
				line["damage"] = t.Damage.Error()
			}
			text, err := json.Marshal(line)
			if err != nil {
				return err
			}
			b.Write(append(text, '\n'))
		}
		return a.write(b.Bytes())
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	var text []byte
	if text = append(text, "TAG\tNEXT\tSTEP\tUPDATED\tDESCRIPTION\n"...); o.watch {
		text = append(text[:0], "TAG\tNEXT\tSTEP\tRATE\tLASTS\tUPDATED\tDESCRIPTION\n"...)
	}
	for _, t := range all {
		text = t.appendRow(text, o.watch)
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	word := "tags"
	if len(all) == 1 {
		word = "tag"
	}
	return a.write(fmt.Appendf(b.Bytes(), "%d %s\n", len(all), word))
}

// appendRow appends a row of the table.
func (t seenTag) appendRow(text []byte, rates bool) []byte {
	updated := "-"
	if !t.Updated.IsZero() {
		updated = t.Updated.UTC().Format(timeForm)
	}
	text = fmt.Appendf(text, "%s\t%d\t%d\t", printable(t.Name), t.Next, t.Step)
	switch {
	case rates && t.rated && t.rate > 0:
		lasts := time.Duration(float64(t.Step) / t.rate * float64(time.Second)).Round(time.Second)
		text = fmt.Appendf(text, "%.1f/s\t%v\t", t.rate, lasts)
	case rates:
		text = append(text, "-\t-\t"...)
	}
	return fmt.Appendf(text, "%s\t%s\n", updated, printable(t.Description))
}

// createSegmentCommand returns the command that makes a tag.
func (a *app) createSegmentCommand() *cobra.Command {
	var where storeOptions
	first, step, what := countValue(1), countValue(1000), ""
	c := &cobra.Command{
		Use:   "create TAG",
		Short: "Make a tag",
		Long: "create makes a tag whose first number is --first. A tag that is there already stays " +
			"as it is, and that is an error.",
		Example: "  unalike segments create orders --first 1 --step 1000 --description 'order numbers'",
		Args:    arguments(1, 1, "the name of a tag"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := segment.CheckTag(args[0]); err != nil {
				return usageError{err}
			}
			return a.withStore(c, where, func(ctx context.Context, s *tagStore) error {
				if err := s.create(ctx, segment.Tag{
					Name: args[0], Next: int64(first), Step: int64(step),
					Description: what,
				}); err != nil {
					return err
				}
				return a.write(fmt.Appendf(nil, "tag %s begins at %d, with a step of %d\n", printable(args[0]),
					int64(first), int64(step)))
			})
		},
	}
	addStoreFlags(c, &where)
	c.Flags().Var(&first, "first", "the first number")
	c.Flags().Var(&step, "step", "how many numbers a segment has, if its taker names no number")
	c.Flags().StringVar(&what, "description", "", "what the numbers are for")
	return c
}

// advanceSegmentCommand returns the command that raises tags.
func (a *app) advanceSegmentCommand() *cobra.Command {
	var where storeOptions
	var to, by countValue
	var every, yes bool
	c := &cobra.Command{
		Use:   "advance TAG --to N | advance TAG --by N | advance --all --by N",
		Short: "Raise the next number of a tag",
		Long: `advance makes --to the next number of a tag, or adds --by to it; never down. Use it after
an import, after restoring a dump, and after a failover: it also says that the tag is as
it should be on this server, so that programs go on that have stopped with "the store is
another server than before". Raise it above every number in use.

This cannot be undone.`,
		Example: `  unalike segments advance orders --to 500000
  unalike segments advance --all --by 1000000`,
		Args: arguments(0, 1, "the name of a tag"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case every == (len(args) == 1):
				return usageError{fmt.Errorf("name a tag, or say --all")}
			case (to == 0) == (by == 0), every && by == 0:
				return usageError{fmt.Errorf("give --to or --by, and with --all --by")}
			}
			if err := a.checkYes(yes); err != nil {
				return err
			}
			return a.withStore(c, where, func(ctx context.Context, s *tagStore) error {
				return a.advanceSegments(ctx, s, args, int64(to), int64(by), yes)
			})
		},
	}
	addStoreFlags(c, &where)
	c.Flags().Var(&to, "to", "the next number")
	c.Flags().Var(&by, "by", "how much to add")
	c.Flags().BoolVar(&every, "all", false, "all tags")
	addYesFlag(c, &yes)
	return c
}

// advanceSegments raises the tag that is named, or all.
func (a *app) advanceSegments(ctx context.Context, s *tagStore, names []string, to, by int64,
	yes bool,
) error {
	tags, err := s.Tags(ctx)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		at := slices.IndexFunc(tags, func(t segment.Tag) bool { return t.Name == names[0] })
		if at < 0 {
			return suggestTag(names[0], tags)
		}
		tags = tags[at : at+1]
	}
	for _, t := range tags { // before any of them is changed
		if t.Damage == nil && t.Next > math.MaxInt64-by {
			return fmt.Errorf("tag %s is at %d, and numbers end at %d: --by is at most %d",
				printable(t.Name), t.Next, int64(math.MaxInt64), math.MaxInt64-t.Next)
		}
	}
	if err := a.confirm(ctx, yes, advancePlan(tags, to, by)); err != nil {
		return err
	}
	var damaged []error
	all, atOnce := s.Store.(segment.Advancer)
	if atOnce = atOnce && len(names) == 0; atOnce {
		if err := s.caller.ask(ctx, true, func(ctx context.Context) error {
			return all.AdvanceAll(ctx, by)
		}); err != nil {
			return err
		}
		if tags, err = s.Tags(ctx); err != nil {
			return err
		}
	}
	for _, t := range tags {
		next := to
		if by > 0 {
			if t.Damage != nil {
				damaged = append(damaged, fmt.Errorf("%w; --by leaves damaged tags alone: say --to", t.Damage))
				continue
			}
			next = t.Next + by
		}
		if atOnce {
			next = t.Next
		} else if err := s.Advance(ctx, t.Name, next); err != nil {
			return err
		}
		if err := a.write(fmt.Appendf(nil, "tag %s goes on with %d\n", printable(t.Name),
			next)); err != nil {
			return err
		}
	}
	return errors.Join(damaged...)
}

// advancePlan says what will happen to tags.
func advancePlan(tags []segment.Tag, to, by int64) string {
	if len(tags) != 1 {
		return fmt.Sprintf("Each of %d tags will go on %d further; the numbers between are "+
			"never given out.", len(tags), by)
	}
	next := to
	if by > 0 {
		next = tags[0].Next + by
	}
	return fmt.Sprintf("Tag %s will go on with %d; it is at %d, and the numbers between are "+
		"never given out.", printable(tags[0].Name), next, tags[0].Next)
}

// suggestTag says that there is no such tag, and which one was meant.
func suggestTag(name string, tags []segment.Tag) error {
	err := fmt.Errorf("%w: %q", segment.ErrUnknownTag, name)
	if meant := nearTag(name, tags); meant != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, meant)
	}
	return err
}

// nearTag returns the tag that was meant by name, or "".
func nearTag(name string, tags []segment.Tag) string {
	var known []string
	for _, t := range tags {
		known = append(known, t.Name)
	}
	return spelling.Word(name, known, spelling.Mistyped)
}
