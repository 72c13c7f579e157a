package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/unalike-id/unalike/coord"
)

// lister is the part of [coord.Admin] that a watch needs.
type lister interface {
	List(ctx context.Context) ([]coord.Slot, error)
}

// watch shows the worker IDs of a namespace again and again.
type watch struct {
	*app
	lister lister
	of     *namespace
	held   bool
	json   bool
	screen *os.File // the terminal that the table is drawn on; nil: changes are printed
	now    func() time.Time

	known   map[int]coord.Slot // as of the last look; nil: there was none
	slots   []coord.Slot       // likewise
	info    coord.Namespace    // likewise
	told    coord.Namespace    // what was said of it last
	trouble string             // what the last look could not read
}

func (a *app) newWatch(l lister, n *namespace, o *workersOptions) *watch {
	w := &watch{
		app: a, lister: l, of: n, held: o.held, json: o.format.value == formatJSON,
		now: time.Now,
	}
	if !w.json && isTerminal(a.out) {
		w.screen, _ = a.out.(*os.File)
	}
	return w
}

// run looks at once and at every tick until ctx ends.
func (w *watch) run(ctx context.Context, ticks <-chan time.Time) error {
	for {
		if err := w.look(ctx); err != nil {
			return err
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look shows how things are, or what has changed. After the first time, a back end
// that does not answer is reported and waited for.
func (w *watch) look(ctx context.Context) error {
	slots, err := w.lister.List(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && len(slots) == 0 && w.known == nil:
		return err
	}
	var unknown error
	if err == nil {
		var info coord.Namespace
		if info, unknown = w.of.inspect(ctx); unknown == nil {
			w.info = info
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	trouble := ""
	if bad := cmp.Or(err, unknown); bad != nil {
		trouble = bad.Error()
	}
	if w.screen != nil {
		if err == nil || len(slots) > 0 {
			w.slots, w.known = slots, index(slots)
		}
		w.trouble = trouble
		return w.draw()
	}
	if trouble != "" && trouble != w.trouble {
		w.complain("unalike: %s: %s\n", w.now().UTC().Format(timeForm), trouble)
	}
	w.trouble = trouble
	return w.printChanges(slots, err == nil)
}

func index(slots []coord.Slot) map[int]coord.Slot {
	m := make(map[int]coord.Slot, len(slots))
	for _, s := range slots {
		m[s.WorkerID] = s
	}
	return m
}

// Control sequences of terminals.
const (
	cursorHome = "\x1b[H"
	clearLine  = "\x1b[K" // from the cursor to the end of the line
	clearBelow = "\x1b[J"
)

// draw replaces what is on the terminal, cut to what fits.
func (w *watch) draw() error {
	now := w.now()
	text := now.UTC().Format(timeForm) + "  " + summary(w.slots, w.info, w.of.whole, now)
	if w.trouble != "" {
		text += "unalike: " + strings.Map(keepLines, w.trouble) + "\n"
	}
	text += "\n" + slotTable(chosen(w.slots, w.held), now)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	width, height, err := term.GetSize(int(w.screen.Fd()))
	if fits := height - 1; err == nil && fits > 4 && len(lines) > fits {
		lines = append(lines[:fits-1:fits-1], fmt.Sprintf("... %d more", len(lines)-fits+1))
	}
	var b strings.Builder
	b.WriteString(cursorHome)
	for _, line := range lines {
		if r := []rune(line); err == nil && width > 0 && len(r) > width {
			line = string(r[:width]) // a line that wraps would take the place of two
		}
		b.WriteString(line + clearLine + "\r\n")
	}
	b.WriteString(clearBelow)
	return w.write([]byte(b.String()))
}

// keepLines makes what a back end says fit for a terminal.
func keepLines(r rune) rune {
	if r < ' ' && r != '\n' {
		return '?'
	}
	return r
}

// printChanges prints a line for each slot that is not as it was. Only a complete list
// shows which ones have vanished.
func (w *watch) printChanges(slots []coord.Slot, complete bool) error {
	first := w.known == nil
	if first {
		w.known = map[int]coord.Slot{}
	}
	now := w.now()
	var text []byte
	if floor := describeFloor(w.info, now); floor != "" && w.info != w.told && !w.json {
		text = fmt.Appendf(text, "%s  %s", now.UTC().Format(timeForm), floor)
	}
	w.told = w.info
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
		line += " by " + printable(s.Holder)
	case s.Holder != "":
		line += ", last held by " + printable(s.Holder)
	}
	if s.Identity != "" {
		line += ", identity " + printable(s.Identity)
	}
	return fmt.Sprintf("%s, generation %d\n", line, s.Generation)
}
