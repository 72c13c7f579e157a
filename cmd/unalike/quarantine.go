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
	span  durationValue
	yes   bool
}

// quarantineCommand returns the command that raises a floor.
func (a *app) quarantineCommand() *cobra.Command {
	o := quarantineOptions{}
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

A floor is never lowered: this cannot be undone. An earlier time than the present floor
changes nothing. The namespace must exist; 'unalike init' makes one.`,
		Example: `  unalike quarantine --coordinator etcd://localhost:2379/orders
  unalike quarantine --coordinator etcd://localhost:2379/orders --for 10m
  unalike quarantine --until 2026-05-17T09:30:00Z --yes`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if !o.until.IsZero() && o.span != 0 {
				return usageError{errors.New("--until and --for exclude each other; give one of them")}
			}
			if err := a.checkYes(o.yes); err != nil {
				return err
			}
			return a.operate(c, &o.namespaceOptions, mustExist, func(ctx context.Context, n *namespace) error { return a.quarantine(ctx, n, &o) })
		},
	}
	addNamespaceFlags(c, &o.namespaceOptions)
	c.Flags().Var(&o.until, "until", "raise the floor to this moment, in RFC 3339")
	c.Flags().Var(&o.span, "for", "raise the floor to so much after now, by this machine's clock")
	addYesFlag(c, &o.yes)
	complete(c, "until", nil)
	complete(c, "for", []string{"1m", "10m", "1h"})
	return c
}

// quarantine raises the floor of n.
func (a *app) quarantine(ctx context.Context, n *namespace, o *quarantineOptions) error {
	admin, err := n.admin()
	if err != nil {
		return err
	}
	now := time.Now()
	until, where := o.until.Time, "as far as windows that the back end has forgotten can reach"
	if o.span != 0 {
		until = now.Add(time.Duration(o.span))
	}
	if !until.IsZero() {
		where = fmt.Sprintf("to %s, %s", until.UTC().Format(timeForm), describeWhen(until, now))
	}
	plan := fmt.Sprintf("The floor of %s will be raised %s.\nNothing is granted or extended below it, and it is never lowered.", n.name, where)
	if l, ok := n.Coordinator.(coord.Lister); ok {
		slots, unreadable := l.List(ctx)
		if unreadable != nil && len(slots) == 0 {
			return unreadable
		}
		plan += "\n" + describeHolders(slots, now)
	}
	if err := checkExists(ctx, admin); err != nil {
		return err
	}
	if err := a.confirm(ctx, o.yes, plan); err != nil {
		return err
	}
	floor, err := admin.Quarantine(ctx, until)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("the floor of %s is %s, %s\n", n.name, floor.UTC().Format(timeForm), describeWhen(floor, time.Now()))
	if !until.IsZero() && floor.After(until) {
		text = fmt.Sprintf("the floor of %s was higher already: it is %s, %s\n", n.name, floor.UTC().Format(timeForm), describeWhen(floor, time.Now()))
	}
	return a.write([]byte(text))
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
	return fmt.Sprintf("Worker IDs that are held: %d. Their holders issue IDs until their windows end, the last one at %s, %s; then they wait for the floor.",
		len(held), latest.UTC().Format(timeForm), describeWhen(latest, now))
}
