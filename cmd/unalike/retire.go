package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// retireCommand returns the command that takes a worker ID out of use.
func (a *app) retireCommand() *cobra.Command {
	var o namespaceOptions
	var yes bool
	c := &cobra.Command{
		Use:   "retire WORKER_ID",
		Short: "Take a worker ID out of use for ever",
		Long: `retire takes a worker ID out of use for ever, because a wrong clock has pushed its
window far into the future for example. Whoever holds it loses it at its next renewal
and takes another worker ID. What it has issued stays valid.

This cannot be undone.`,
		Example: `  unalike workers --coordinator etcd://localhost:2379/orders
  unalike retire 17 --coordinator etcd://localhost:2379/orders`,
		Args:              arguments(1, 1, "one worker ID"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := workerValue(args[0])
			if err != nil {
				return err
			}
			if err := a.checkYes(yes); err != nil {
				return err
			}
			return a.operate(c, &o, mustExist, func(ctx context.Context, n *namespace) error {
				return a.retire(ctx, n, id, yes)
			})
		},
	}
	addNamespaceFlags(c, &o)
	addYesFlag(c, &yes)
	return c
}

// retire takes worker ID id of n out of use.
func (a *app) retire(ctx context.Context, n *namespace, id int, yes bool) error {
	plan := fmt.Sprintf("Worker ID %d of %s will be retired: nobody is granted it again.", id, n.name)
	slots, unreadable := n.List(ctx)
	s, known := index(slots)[id]
	switch {
	case unreadable != nil && len(slots) == 0:
		return unreadable
	case s.State == coord.SlotRetired:
		return a.write(fmt.Appendf(nil, "worker ID %d of %s is retired already\n", id, n.name))
	case unreadable != nil && !known:
		plan += fmt.Sprintf("\nWho holds it cannot be read: %v", unreadable)
	default:
		plan += "\n" + describeHolder(s, known, time.Now())
	}
	if err := checkWorker(id, slots); err != nil {
		return err
	}
	if err := checkExists(ctx, n); err != nil {
		return err
	}
	if err := a.confirm(ctx, yes, plan); err != nil {
		return err
	}
	if err := n.Retire(ctx, id); err != nil {
		return err
	}
	return a.write(fmt.Appendf(nil, "worker ID %d of %s is retired\n", id, n.name))
}

// checkWorker tells whether the layout of a namespace with these slots has worker ID id.
// If there are none, only the back end knows.
func checkWorker(id int, slots []coord.Slot) error {
	for _, s := range slots {
		if l, err := core.ParseLayout(s.Layout); err == nil && id >= l.Workers() {
			return fmt.Errorf("worker ID %d; the layout has worker IDs 0 to %d", id, l.Workers()-1)
		}
	}
	return nil
}

// describeHolder says who has the worker ID that is to be retired.
func describeHolder(s coord.Slot, known bool, now time.Time) string {
	holder := holderName(s)
	switch {
	case !known:
		return "It was never granted."
	case s.State == coord.SlotHeld:
		since := ""
		if !s.Since.IsZero() {
			since = fmt.Sprintf(" since %s", s.Since.UTC().Format(timeForm))
		}
		return fmt.Sprintf("It is held by %s%s, generation %d, with a window to %s. The holder "+
			"loses it at its next renewal and takes another one.",
			holder, since, s.Generation, describeWhen(s.Until, now))
	}
	return fmt.Sprintf("It is free; it was held last by %s, with a window to %s.", holder,
		describeWhen(s.Until, now))
}
