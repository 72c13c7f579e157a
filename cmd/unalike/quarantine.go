package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
)

// quarantineOptions are the flags of quarantine.
type quarantineOptions struct {
	namespaceOptions
	until timeValue
	span  spanValue
	far   bool
	lower bool
	yes   bool
}

// farAhead is how far ahead a floor may be set without the operator's saying that it is
// meant: most likely a longer time is a typing error, and no floor that was set to a
// given time is ever lowered.
const farAhead = 24 * time.Hour

// quarantineCommand returns the command that raises a floor.
func (a *app) quarantineCommand() *cobra.Command {
	o := quarantineOptions{
		until: newValue("TIME", time.Time{}, parseTime),
		span:  newValue("DURATION", time.Duration(0), parseSpan),
	}
	c := &cobra.Command{
		Use:   "quarantine",
		Short: "Raise the floor of a namespace: nothing is granted below it",
		Long: `quarantine raises the floor of a namespace: no window is granted or extended below it.
Holders go on inside the windows that they have, and stop at their ends until the
floor has passed. It is for a back end whose memory cannot be trusted, after a backup
was restored for example, and for a namespace that has to stay above IDs that were
issued elsewhere.

Without --until and --for, the floor goes as far as windows that the back end has
forgotten can reach: its longest horizon and clock difference from now on.

An earlier time than the present floor changes nothing. A floor that was set with
--until or --for cannot be taken back, because nobody else knows what it protects; so
one that is more than 24 hours ahead is refused unless --far says that it is meant.

A floor that reaches further than windows that the back end has forgotten can reach,
because a wrong clock has raised it, is lowered to that with --lower. Set the clock
first. Generators that had started to wait for the old floor may have to be restarted.

The namespace must exist; 'unalike init' makes one.`,
		Example: `  unalike quarantine --coordinator etcd://localhost:2379/orders
  unalike quarantine --coordinator etcd://localhost:2379/orders --for 10m
  unalike quarantine --until 2026-05-17T09:30:00Z --yes
  unalike quarantine --coordinator etcd://localhost:2379/orders --lower`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(time.Now()); err != nil {
				return err
			}
			if err := a.checkYes(o.yes); err != nil {
				return err
			}
			return a.operate(c, &o.namespaceOptions, mustExist,
				func(ctx context.Context, n *namespace) error { return a.quarantine(ctx, n, &o) })
		},
	}
	addNamespaceFlags(c, &o.namespaceOptions)
	c.Flags().Var(&o.until, "until", "raise the floor to this moment, in RFC 3339")
	c.Flags().Var(&o.span, "for", "raise the floor to so much after now, by this machine's clock")
	c.Flags().BoolVar(&o.far, "far", false, "the moment may be more than 24 hours ahead")
	c.Flags().BoolVar(&o.lower, "lower", false,
		"lower a floor that a wrong clock has raised, as far as that is safe")
	addYesFlag(c, &o.yes)
	return c
}

// check refuses flags that do not go together, and a floor that is far ahead of now.
func (o *quarantineOptions) check(now time.Time) error {
	given := !o.until.v.IsZero() || o.span.v != 0
	ahead := max(o.until.v.Sub(now), o.span.v)
	switch {
	case !o.until.v.IsZero() && o.span.v != 0:
		return usageError{errors.New("--until and --for exclude each other; give one of them")}
	case o.lower && (given || o.far):
		return usageError{errors.New("--lower takes neither --until nor --for nor --far: it lowers the " +
			"floor as far as that is safe")}
	case given && ahead > farAhead && !o.far:
		return usageError{fmt.Errorf("the floor would be %s ahead, and nothing is granted until then; "+
			"this cannot be taken back; at most %v is allowed without --far", roughly(ahead), farAhead)}
	}
	return nil
}

// roughly prints a long duration in days.
func roughly(d time.Duration) string {
	return fmt.Sprintf("%d days and %v", d/(24*time.Hour), (d % (24 * time.Hour)).Round(time.Minute))
}

// quarantine raises the floor of n, or lowers it. What is refused is not announced before.
func (a *app) quarantine(ctx context.Context, n *namespace, o *quarantineOptions) error {
	slots, unreadable := n.List(ctx)
	if unreadable != nil && len(slots) == 0 {
		return unreadable
	}
	if err := checkExists(ctx, n); err != nil {
		return err
	}
	now, until := time.Now(), o.until.v
	if o.span.v != 0 {
		until = now.Add(o.span.v)
	}
	plan := "The floor of " + n.name + o.plan(until, slots, now)
	if err := a.confirm(ctx, o.yes, plan); err != nil {
		return err
	}
	call := n.Lower
	if !o.lower {
		call = func(ctx context.Context) (time.Time, error) { return n.Quarantine(ctx, until) }
	}
	floor, err := call(ctx)
	if err != nil {
		return err
	}
	what := "is"
	if !until.IsZero() && floor.After(until) {
		what = "was higher already: it is"
	}
	return a.write(fmt.Appendf(nil, "the floor of %s %s %s\n", n.name, what,
		describeWhen(floor, time.Now())))
}

// plan says what will happen to the floor.
func (o *quarantineOptions) plan(until time.Time, slots []coord.Slot, now time.Time) string {
	if o.lower {
		return " will be lowered as far as windows that the back end has forgotten can reach by now.\n" +
			"This is for a floor that a wrong clock has raised. The clock of this machine must be right, " +
			"and so must those of all generators."
	}
	where, end := "as far as windows that the back end has forgotten can reach", ""
	if !until.IsZero() {
		where, end = "to "+describeWhen(until, now), " It cannot be taken back."
	}
	return fmt.Sprintf(" will be raised %s.\nNothing is granted or extended below it.%s\n%s", where,
		end, describeHolders(slots, now))
}

// describeHolders says what a floor means for those who hold worker IDs.
func describeHolders(slots []coord.Slot, now time.Time) string {
	held := chosen(slots, true)
	if len(held) == 0 {
		return "No worker ID is held."
	}
	latest := held[0].Until
	for _, s := range held {
		if s.Until.After(latest) {
			latest = s.Until
		}
	}
	return fmt.Sprintf("Worker IDs that are held: %d. Their holders issue IDs until their windows "+
		"end, the last one at %s; then they wait for the floor.",
		len(held), describeWhen(latest, now))
}
