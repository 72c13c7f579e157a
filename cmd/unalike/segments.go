package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/internal/spelling"
	"github.com/unalike-id/unalike/internal/tagcheck"
	"github.com/unalike-id/unalike/segment"
)

// segmentsOptions are the flags of segments.
type segmentsOptions struct {
	storeOptions
	watchOptions
	format choiceValue
}

// segmentsCommand returns the command that shows and changes the tags of a store.
func (a *app) segmentsCommand() *cobra.Command {
	var o segmentsOptions
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

create makes a tag, advance raises one, prune removes past groups. --config takes the
store from a file, so that a password need not stand on the command line;
` + envStore + ` wins over it, and --store over both.`,
		Example: `  unalike segments --store 'mysql://leaf:secret@db/leaf?table=leaf_alloc'
  unalike segments --config app.yaml
  unalike segments create orders --first 1 --step 1000
  unalike segments advance orders --to 500000
  unalike segments prune orders --before 2025-01-01`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.operateStore(c, o.storeOptions, func(ctx context.Context, s *tagStore) error {
				return a.listSegments(ctx, s, &o)
			})
		},
	}
	addStoreFlags(c, &o.storeOptions)
	addFormatFlag(c, &o.format, "how to print them", formatTable, formatJSON)
	addWatchFlags(c, &o.watchOptions, "go on, with rates")
	c.AddCommand(a.createSegmentCommand(), a.advanceSegmentCommand(), a.pruneSegmentsCommand())
	return c
}

// listSegments prints the tags, and with --watch again and again.
func (a *app) listSegments(ctx context.Context, s *tagStore, o *segmentsOptions) error {
	first, began, said := map[string]int64{}, time.Now(), map[string]bool{}
	look := func(ctx context.Context) error {
		tags, err := s.Tags(ctx)
		if err != nil {
			return err
		}
		if err := a.writeTags(tags, o, ratesSince(first, time.Since(began), tags)); err != nil {
			return err
		}
		for _, t := range tags {
			if t.Damage != nil && !said[t.Damage.Error()] {
				said[t.Damage.Error()] = true
				a.complain("unalike: %v\n", t.Damage)
			}
		}
		return nil
	}
	if err := look(ctx); err != nil || !o.watch {
		return err
	}
	return o.again(ctx, look)
}

// ratesSince returns how many numbers a second were taken of each tag since its number in first,
// over a second at least, and adds the tags that are not in there.
func ratesSince(first map[string]int64, passed time.Duration,
	tags []segment.Tag,
) map[string]float64 {
	rates, seconds := map[string]float64{}, max(passed.Seconds(), 1)
	for _, t := range tags {
		if at, known := first[t.Name]; known {
			rates[t.Name] = float64(t.Next-at) / seconds
		} else {
			first[t.Name] = t.Next
		}
	}
	return rates
}

// writeTags prints tags and their rates in the format that o asks for.
func (a *app) writeTags(tags []segment.Tag, o *segmentsOptions, rates map[string]float64) error {
	if o.format.v == formatTable {
		return a.write(tagTable(tags, o.watch, rates))
	}
	text, err := tagLines(tags, rates)
	if err != nil {
		return err
	}
	return a.write(text)
}

// tagObject is a tag in JSON.
type tagObject struct {
	Tag         string   `json:"tag"`
	Next        int64    `json:"next"`
	Step        int64    `json:"step"`
	Updated     *string  `json:"updated"` // null: it is not known
	Description string   `json:"description"`
	Rate        *float64 `json:"rate,omitempty"` // numbers a second
	Damage      string   `json:"damage,omitempty"`
}

// tagLines are tags as JSON, one a line.
func tagLines(tags []segment.Tag, rates map[string]float64) (text []byte, err error) {
	for _, t := range tags {
		o := tagObject{
			Tag: t.Name, Next: t.Next, Step: t.Step, Description: t.Description,
			Updated: timeOrNull(t.Updated),
		}
		if rate, known := rates[t.Name]; known {
			o.Rate = &rate
		}
		if t.Damage != nil {
			o.Damage = t.Damage.Error()
		}
		if text, err = appendJSON(text, o); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// tagTable is a table of tags, for a watch with rates.
func tagTable(tags []segment.Tag, watch bool, rates map[string]float64) []byte {
	use := ""
	if watch {
		use = "RATE\tLASTS\t"
	}
	rows := fmt.Appendf(nil, "TAG\tNEXT\tSTEP\t%sUPDATED\tDESCRIPTION\n", use)
	for _, t := range tags {
		if watch {
			use = useOf(t, rates[t.Name])
		}
		rows = fmt.Appendf(rows, "%s\t%d\t%d\t%s%s\t%s\n", printable(t.Name), t.Next, t.Step, use,
			timeOrDash(t.Updated), printable(t.Description))
	}
	n := int64(len(tags))
	return fmt.Appendf(columns(rows), "%d %s\n", n, plural(n, "tag"))
}

// useOf returns the cells of a rate, and of how long a segment lasts at it.
func useOf(t segment.Tag, rate float64) string {
	if rate <= 0 {
		return "-\t-\t"
	}
	seconds := min(float64(t.Step)/rate, math.MaxInt32)
	return fmt.Sprintf("%.1f/s\t%s\t", rate, describe(int64(seconds)*1000))
}

// createSegmentCommand returns the command that makes a tag.
func (a *app) createSegmentCommand() *cobra.Command {
	var where storeOptions
	what := ""
	first := newValue("N", int64(1), parseCount)
	step := newValue("N", int64(segment.DefaultStep), parseCount)
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
			return a.operateStore(c, where, func(ctx context.Context, s *tagStore) error {
				if err := s.create(ctx, segment.Tag{
					Name: args[0], Next: first.v, Step: step.v,
					Description: what,
				}); err != nil {
					return err
				}
				return a.write(fmt.Appendf(nil, "tag %s begins at %d, with a step of %d\n",
					printable(args[0]), first.v, step.v))
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
	to, by := newValue("N", int64(0), parseCount), newValue("N", int64(0), parseCount)
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
			case (to.v == 0) == (by.v == 0), every && by.v == 0:
				return usageError{fmt.Errorf("give --to or --by, and with --all --by")}
			}
			if err := a.checkYes(yes); err != nil {
				return err
			}
			return a.operateStore(c, where, func(ctx context.Context, s *tagStore) error {
				return a.advanceSegments(ctx, s, args, to.v, by.v, yes)
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
		if t.Damage == nil && !usedUp(t) && t.Next > math.MaxInt64-by { //mutant:advance-used-up
			return fmt.Errorf("tag %s is at %d, and numbers end at %d: --by is at most %d",
				printable(t.Name), t.Next, int64(math.MaxInt64), math.MaxInt64-t.Next)
		}
	}
	if err := a.confirm(ctx, yes, advancePlan(tags, to, by)); err != nil {
		return err
	}
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
	var damaged []error
	for _, t := range tags {
		if by > 0 && t.Damage != nil {
			damaged = append(damaged, fmt.Errorf("%w; --by leaves damaged tags alone: say --to", t.Damage))
			continue
		}
		next := t.Next
		if !atOnce {
			next = advanced(t, to, by)
			if err := s.Advance(ctx, t.Name, next); err != nil {
				return err
			}
		}
		if err := a.write(fmt.Appendf(nil, "tag %s goes on with %d\n", printable(t.Name),
			next)); err != nil {
			return err
		}
	}
	return errors.Join(damaged...)
}

// usedUp reports whether a tag has no number left.
func usedUp(t segment.Tag) bool { return t.Next > cmp.Or(t.Most, math.MaxInt64-1) }

// advanced is the number with which a tag is to go on.
func advanced(t segment.Tag, to, by int64) int64 {
	if by > 0 && usedUp(t) {
		return t.Next
	}
	if by > 0 {
		return t.Next + by
	}
	return to
}

// advancePlan says what will happen to tags.
func advancePlan(tags []segment.Tag, to, by int64) string {
	if len(tags) != 1 {
		return fmt.Sprintf("Each of %d tags will go on %d further; the numbers between are "+
			"never given out.", len(tags), by)
	}
	return fmt.Sprintf("Tag %s will go on with %d; it is at %d, and the numbers between are "+
		"never given out.", printable(tags[0].Name), advanced(tags[0], to, by), tags[0].Next)
}

// parseDay reads a date.
func parseDay(s string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return day, errors.New("a date is needed, for example 2025-01-01")
	}
	return day, nil
}

// pruneAfter is how long after a day groups before it may be removed: no zone and no clock may be
// in them any more.
const pruneAfter = 48 * time.Hour

// pruneSegmentsCommand returns the command that removes past groups.
func (a *app) pruneSegmentsCommand() *cobra.Command {
	var where storeOptions
	before := newValue("DATE", time.Time{}, parseDay)
	var yes bool
	c := &cobra.Command{
		Use:   "prune TAG --before DATE",
		Short: "Remove the past groups of a tag",
		Long: `prune removes the groups of a tag that were over before a date, such as orders.2024-12
before 2025-01-01; a year is removed a year later, because it may be a fiscal year. The
store records the date, and refuses to create those groups again, so that a late posting
cannot begin at 1. A group that a program still has open ends with an error.

The date is at least two days ago. This cannot be undone.`,
		Example: "  unalike segments prune orders --before 2025-01-01",
		Args:    arguments(1, 1, "the name of a tag"),
		RunE: func(c *cobra.Command, args []string) error {
			if before.v.IsZero() {
				return usageError{errors.New("say --before DATE")}
			}
			if time.Since(before.v) < pruneAfter {
				return usageError{fmt.Errorf("--before is %s; a date at least two days ago is allowed",
					before.v.Format(time.DateOnly))}
			}
			if err := a.checkYes(yes); err != nil {
				return err
			}
			return a.operateStore(c, where, func(ctx context.Context, s *tagStore) error {
				return a.pruneSegments(ctx, s, args[0], before.v, yes)
			})
		},
	}
	addStoreFlags(c, &where)
	c.Flags().Var(&before, "before", "the first day of the groups that stay")
	addYesFlag(c, &yes)
	return c
}

// pruneSegments removes the groups of a tag before a day.
func (a *app) pruneSegments(ctx context.Context, s *tagStore, tag string, before time.Time,
	yes bool,
) error {
	pruner, ok := s.Store.(segment.Pruner)
	if !ok {
		return fmt.Errorf("the store %s cannot remove groups: it would not refuse to create them again",
			s.place)
	}
	tags, err := s.Tags(ctx)
	if err != nil {
		return err
	}
	known, groups := false, 0
	for _, t := range tags {
		known = known || t.Name == tag
		if tagcheck.IsPast(t.Name, tag, before) {
			groups++
		}
	}
	if !known {
		return suggestTag(tag, tags)
	}
	day := before.Format(time.DateOnly)
	if err := a.confirm(ctx, yes, fmt.Sprintf("%d groups of tag %s before %s will be removed, and no "+
		"group before that day can be created again.", groups, printable(tag), day)); err != nil {
		return err
	}
	n, err := answer(ctx, s.caller, true, func(ctx context.Context) (int, error) {
		return pruner.Prune(ctx, tag, before)
	})
	if err != nil {
		return err
	}
	return a.write(fmt.Appendf(nil, "%d groups of tag %s before %s are removed\n", n, printable(tag),
		day))
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
