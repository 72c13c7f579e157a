package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
)

// far is as far as windows reach ahead, where no longer horizon was declared.
const far = 2 * time.Minute

// longestHorizon is [coord.LongestHorizon] as people write it.
const longestHorizon = "24h"

// initOptions are the flags of init.
type initOptions struct {
	namespaceOptions
	after      string
	maxHorizon spanValue
	yes        bool
}

// initCommand returns the command that declares a namespace new.
func (a *app) initCommand() *cobra.Command {
	o := initOptions{maxHorizon: newValue("DURATION", time.Duration(0), parseSpan)}
	c := &cobra.Command{
		Use:   "init",
		Short: "Declare a namespace new, or let it follow another one",
		Long: `init declares a namespace new: nobody was ever granted a worker ID in it. It stores
the layout. Back ends that cannot tell "new" from "lost" then grant at once, without
the quarantine that a lost namespace needs. It is refused where worker IDs were
granted. PostgreSQL and MySQL remember a namespace whose rows were deleted: init then
prints until when nothing is granted.

With --max-horizon, generators with a state file (state=FILE) may have a longer horizon
than their coordinator allows otherwise: they go on for as long while it is away. That
is fixed for the life of the namespace, and it has a price: after a loss of state, or a
backup that was restored, nothing is granted for as long, and a worker ID whose holder
has lost its state file is shut for as long. etcd, ZooKeeper, PostgreSQL and MySQL have
it. Programs of a version that does not know it cannot use the namespace.

With --after, the new namespace goes on where another one has ended, so that a
namespace moves to another back end without a duplicate. Both must have the same
layout. First stop the generators of the old namespace: init refuses if any of its
worker IDs is held. It then declares the new namespace new, raises its floor to the
end of the last window of the old one, and retires what is retired there. Start the
generators of the new namespace only after init has succeeded. If it is interrupted,
run it again. To follow several namespaces, the static worker IDs of several machines
for example, run init once for each of them before the first start.

The old namespace is closed: its floor becomes the end of the layout, so that a
generator that was forgotten, or that comes back from a pause, can extend nothing. That
holds for as long as the old back end remembers it. Take the old generators' rights or
their URL away before you delete the old data, flush that Redis, or restore a backup
there: otherwise one that was forgotten issues the IDs of the new namespace again.

This cannot be taken back, so --after asks first.`,
		Example: `  unalike init --coordinator etcd://localhost:2379/orders
  unalike init --coordinator etcd://localhost:2379/orders --layout javascript
  unalike init --coordinator etcd://localhost:2379/orders --max-horizon 6h
  unalike init --coordinator file:///var/lib/app/ids
  unalike init --coordinator etcd://new:2379/orders --after etcd://old:2379/orders
  unalike init --coordinator etcd://localhost:2379/orders \
    --after 'static://?worker=7&state=/var/lib/app/unalike.state'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("after") {
				if err := a.checkYes(o.yes); err != nil {
					return err
				}
			}
			return a.operate(c, &o.namespaceOptions, mayBeNew,
				func(ctx context.Context, n *namespace) error { return a.init(ctx, n, &o) })
		},
	}
	addNamespaceFlags(c, &o.namespaceOptions)
	c.Flags().StringVar(&o.after, "after", "", "`URL` of the namespace that the new one follows")
	c.Flags().Var(&o.maxHorizon, "max-horizon",
		"the longest horizon of generators with a state file, at most "+longestHorizon+
			" (default: that of the coordinator)")
	addYesFlag(c, &o.yes)
	completeCoordinators(c, "after")
	return c
}

// init declares n new.
func (a *app) init(ctx context.Context, n *namespace, o *initOptions) error {
	layout := o.layout.v
	if o.after != "" {
		return a.follow(ctx, n, o)
	}
	if err := n.Init(ctx, o.space()); err != nil {
		return err
	}
	info, err := n.inspect(ctx)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "%s is new, with layout %s%s\n", n.name, layout, o.describeHorizon())
	if now := time.Now(); info.Floor.After(now) {
		// an operator has raised it, or the namespace was there before and was deleted
		text = fmt.Appendf(text, "it grants from %s\n", describeWhen(info.Floor, now))
	}
	return a.write(text)
}

// space is the namespace as it is to be declared.
func (o *initOptions) space() coord.Space {
	s := o.layout.v.Space()
	s.MaxHorizon = o.maxHorizon.v
	return s
}

// describeHorizon says with which longest horizon it is declared; nothing if with none.
func (o *initOptions) describeHorizon() string {
	if o.maxHorizon.v == 0 {
		return ""
	}
	return fmt.Sprintf(", and windows of up to %v", o.maxHorizon.v)
}

// follow makes the new namespace n follow the one that o names.
func (a *app) follow(ctx context.Context, n *namespace, o *initOptions) error {
	p := place{from: "--after", rawURL: o.after, typed: true}
	return a.with(ctx, p, mustExist, func(old *namespace) error {
		if old.name == n.name {
			return usageError{errors.New("--after and the coordinator name the same namespace; " +
				"a namespace cannot follow itself")}
		}
		return a.move(ctx, n, old, o)
	})
}

// move shows what is to be done, asks, and does it.
func (a *app) move(ctx context.Context, n, old *namespace, o *initOptions) error {
	layout := o.layout.v
	end, err := a.endOf(ctx, old, o.space())
	if held := (&follow.HeldError{}); errors.As(err, &held) {
		a.complain("%s", slotTable(held.Slots, time.Now()))
		return fmt.Errorf("%s cannot be followed: %d of its worker IDs are held; stop the generators "+
			"first, and wait until the leases of those that crashed have ended", old.name, len(held.Slots))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", old.name, err)
	}
	if err := a.confirm(ctx, o.yes, describeMove(n, old, end, o, time.Now())); err != nil {
		return err
	}
	floor, err := follow.Namespace(ctx, n, old, o.space())
	if err != nil {
		return fmt.Errorf("%s is to follow %s: %w", n.name, old.name, err)
	}
	opens := floor.Add(layout.Unit)
	return a.write(fmt.Appendf(nil,
		"%s is new, with layout %s%s, and follows %s\nit grants from %s\n",
		n.name, layout, o.describeHorizon(), old.name, describeWhen(opens, time.Now())))
}

// describeMove says what happens to the new namespace n.
func describeMove(n, old *namespace, end follow.Ending, o *initOptions, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s will be declared new, with layout %s%s, to follow %s.\n", n.name,
		o.layout.v, o.describeHorizon(), old.name)
	fmt.Fprintf(&b, "Its floor will be raised to %s: nothing is granted below it. It cannot be "+
		"taken back.", describeWhen(end.Until, now))
	switch {
	case !end.Until.After(now.Add(max(far, end.MaxHorizon))):
	case end.Until.After(end.Furthest.Until):
		b.WriteString("\nThat far reaches the floor of the old namespace.")
	default:
		fmt.Fprintf(&b, "\nThat far reaches the window of worker ID %d of the old namespace. If a wrong "+
			"clock has pushed it there, retire that worker ID first.", end.Furthest.WorkerID)
	}
	if len(end.Retired) > 0 {
		fmt.Fprintf(&b, "\nRetired as in the old namespace: %s.",
			strings.Trim(fmt.Sprint(end.Retired), "[]"))
	}
	b.WriteString("\nThe old namespace will be closed: nothing is granted or extended in it any " +
		"more, as long as its back end remembers that. " +
		"Take the rights or the URL of its generators away before its data.")
	return b.String()
}
