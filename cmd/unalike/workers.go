package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
)

const formatTable = "table"

// workersOptions are the flags of workers.
type workersOptions struct {
	namespaceOptions
	watchOptions
	format choiceValue
	held   bool
}

// workersCommand returns the command that shows who holds which worker ID.
func (a *app) workersCommand() *cobra.Command {
	var o workersOptions
	c := &cobra.Command{
		Use:   "workers",
		Short: "Show who holds which worker ID",
		Long: `workers lists the worker IDs of a namespace that were ever granted or retired: those
that are held first, then the free ones, then the retired ones. It changes nothing.

HOLDER is the host and process that holds the worker ID, or held it last. WINDOW LEFT
is how long the window that is stored for it is still open: the holder issues IDs
inside it and extends it, and the next holder begins where it ends. It is computed
with the clock of this machine; the other times are by the clock of the machine that
wrote them. Below the table it says how many there are of each kind, and, if that is so,
how far ahead windows may reach because the namespace was declared with it, until when
nothing is granted, in a quarantine for example, or that the namespace is closed.

--format json prints one object a line: seen (when this machine looked), worker_id,
state (held, free, retired), holder, identity, generation, since, renewed, window_end,
window_left_seconds (negative: it has ended; null: there was none), not_after (the window's
last tick) and layout, and max_horizon_seconds if the namespace was declared with it. Times
are in RFC 3339, and null where they are not stored.

--watch then looks again and again until it is interrupted, and prints a line for each
worker ID that is granted, lost, given back or retired, not for renewals. The state of a
worker ID whose record has vanished is then "gone".

What cannot be read is reported on the standard error output, the rest is shown, and
the exit code is 1.

A watch whose output nobody reads any more, as with "| head -1", ends when it has
something to print the next time; nothing tells it sooner.

--layout matters only where no coordinator is named: the default one has a namespace
for each layout. --config takes the coordinator and the layout from a file.`,
		Example: `  unalike workers --coordinator etcd://localhost:2379/orders
  unalike workers --held --watch --interval 5s
  unalike workers --format json | jq 'select(.state == "held") | .holder'
  unalike workers --coordinator 'static://?worker=7&state=/var/lib/app/unalike.state'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.operate(c, &o.namespaceOptions, mustExist,
				func(ctx context.Context, n *namespace) error { return a.workers(ctx, n, &o) })
		},
	}
	addNamespaceFlags(c, &o.namespaceOptions)
	addFormatFlag(c, &o.format, "how to print them", formatTable, formatJSON)
	c.Flags().BoolVar(&o.held, "held", false, "only those that are held")
	addWatchFlags(c, &o.watchOptions, "go on and show what changes")
	return c
}

// workers prints the worker IDs of n, and with --watch what changes.
func (a *app) workers(ctx context.Context, n *namespace, o *workersOptions) error {
	slots, unreadable := n.List(ctx)
	if unreadable != nil && len(slots) == 0 {
		return unreadable
	}
	var info coord.Namespace
	var unknown error
	if len(slots) > 0 || o.format.v == formatTable {
		info, unknown = n.inspect(ctx)
	}
	if err := a.writeSlots(slots, info, n.whole, o); err != nil {
		return err
	}
	if unreadable != nil {
		unknown = fmt.Errorf("not every worker ID can be read: %w", unreadable)
	}
	if !o.watch {
		return unknown
	}
	w := &watch{
		app: a, of: n, held: o.held, json: o.format.v == formatJSON, now: time.Now,
		known: index(slots), info: info,
	}
	w.complainOnce(unknown)
	return o.again(ctx, w.look)
}

// writeSlots writes slots, those of a whole namespace or some, in the format that o
// asks for.
func (a *app) writeSlots(slots []coord.Slot, info coord.Namespace, whole bool,
	o *workersOptions,
) error {
	now := time.Now()
	shown := chosen(slots, o.held)
	if o.format.v == formatTable {
		return a.write([]byte(slotTable(shown, now) + summary(slots, info, whole, now)))
	}
	var text []byte
	for _, s := range shown {
		var err error
		if text, err = appendSlot(text, s, info, s.State.String(), now); err != nil {
			return err
		}
	}
	return a.write(text)
}

// write writes results.
func (a *app) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if _, err := a.out.Write(text); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
