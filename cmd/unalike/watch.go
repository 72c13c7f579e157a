package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
)

// watchOptions are the flags of a command that can look again and again.
type watchOptions struct {
	watch    bool
	interval spanValue
}

// addWatchFlags gives c the flags of o; what says what more it does then.
func addWatchFlags(c *cobra.Command, o *watchOptions, what string) {
	o.interval = newValue("DURATION", 2*time.Second, parseInterval)
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, what)
	c.Flags().Var(&o.interval, "interval", "how often --watch looks")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("interval") && !o.watch {
			return usageError{errors.New("--interval is for --watch; add --watch, or leave it out")}
		}
		return nil
	}
}

// again calls look at every interval until ctx ends, or look fails.
func (o *watchOptions) again(ctx context.Context, look func(context.Context) error) error {
	t := time.NewTicker(o.interval.v)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := look(ctx); err != nil {
			return err
		}
	}
}

// watch shows what changes of the worker IDs of a namespace.
type watch struct {
	*app
	of   *namespace
	held bool
	json bool
	now  func() time.Time

	known   map[int]coord.Slot // as of the last look
	info    coord.Namespace    // likewise
	trouble string             // what the last look could not read
}

// look shows what has changed. A back end that does not answer is reported and waited for.
func (w *watch) look(ctx context.Context) error {
	slots, unreadable := w.of.List(ctx)
	told, unknown := w.info, error(nil)
	if unreadable == nil {
		var info coord.Namespace
		if info, unknown = w.of.inspect(ctx); unknown == nil {
			w.info = info
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.complainOnce(cmp.Or(unreadable, unknown))
	return w.printChanges(slots, unreadable == nil, w.info != told)
}

// complainOnce reports what a look could not read, unless the one before could not either.
func (w *watch) complainOnce(err error) {
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	if trouble != "" && trouble != w.trouble {
		w.complain("unalike: %s: %s\n", w.now().UTC().Format(timeForm), trouble)
	}
	w.trouble = trouble
}

func index(slots []coord.Slot) map[int]coord.Slot {
	m := make(map[int]coord.Slot, len(slots))
	for _, s := range slots {
		m[s.WorkerID] = s
	}
	return m
}

// printChanges prints a line for each slot that is not as it was, and for a floor that is new. Only
// a complete list shows which slots have vanished.
func (w *watch) printChanges(slots []coord.Slot, complete, floorIsNew bool) error {
	now := w.now()
	var text []byte
	if floor := describeFloor(w.info, now); floor != "" && floorIsNew && !w.json {
		text = fmt.Appendf(text, "%s  %s", now.UTC().Format(timeForm), floor)
	}
	add := func(s coord.Slot, state string) (err error) {
		if w.json {
			text, err = appendSlot(text, s, w.info, state, now)
		} else {
			text = append(text, changeLine(s, state, now)...)
		}
		return err
	}
	var err error
	seen := index(slots)
	for _, s := range slots {
		old, known := w.known[s.WorkerID]
		w.known[s.WorkerID] = s
		changed := !known || old.State != s.State || old.Generation != s.Generation ||
			old.Holder != s.Holder || old.Identity != s.Identity
		relevant := !w.held || s.State == coord.SlotHeld || old.State == coord.SlotHeld
		if changed && relevant {
			err = errors.Join(err, add(s, s.State.String()))
		}
	}
	for id, s := range w.known {
		if _, there := seen[id]; !there && complete {
			delete(w.known, id)
			err = errors.Join(err, add(s, stateGone))
		}
	}
	return errors.Join(err, w.write(text))
}

// changeLine says what a worker ID is now.
func changeLine(s coord.Slot, state string, now time.Time) string {
	line := fmt.Sprintf("%s  worker ID %d  %s", now.UTC().Format(timeForm), s.WorkerID, state)
	switch {
	case state == coord.SlotHeld.String():
		line += " by " + holderName(s)
	case s.Holder != "":
		line += ", last held by " + holderName(s)
	}
	return fmt.Sprintf("%s, generation %d\n", line, s.Generation)
}
