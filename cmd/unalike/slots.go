package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// slotObject is a worker ID in JSON. Times are null where they are not stored.
type slotObject struct {
	Seen        string   `json:"seen"` // when this machine looked, by its clock
	WorkerID    int      `json:"worker_id"`
	State       string   `json:"state"` // held, free, retired; gone: its record has vanished
	Holder      string   `json:"holder"`
	Identity    string   `json:"identity"`
	Generation  uint64   `json:"generation"`
	Since       *string  `json:"since"`
	Renewed     *string  `json:"renewed"`
	WindowEnd   *string  `json:"window_end"`
	WindowLeft  *float64 `json:"window_left_seconds"` // negative: it has ended; null: there was none
	NotAfter    int64    `json:"not_after"`           // the last tick of the window
	Fingerprint string   `json:"layout"`              // empty: not stored
	// MaxHorizon is what the namespace was declared with; 0, which is left out: with nothing,
	// or it was not asked for.
	MaxHorizon float64 `json:"max_horizon_seconds,omitempty"`
}

// stateGone is the state of a slot that was there and is not.
const stateGone = "gone"

// appendSlot appends s, which is of the namespace n, as a line of JSON to b.
func appendSlot(b []byte, s coord.Slot, n coord.Namespace, state string,
	now time.Time,
) ([]byte, error) {
	object := newSlotObject(s, state, now)
	object.MaxHorizon = n.MaxHorizon.Seconds()
	return appendJSON(b, object)
}

func newSlotObject(s coord.Slot, state string, now time.Time) slotObject {
	o := slotObject{
		Seen: now.UTC().Format(timeForm), WorkerID: s.WorkerID, State: state, Holder: s.Holder,
		Identity: s.Identity, Generation: s.Generation, Since: timeOrNull(s.Since),
		Renewed: timeOrNull(s.Renewed), NotAfter: s.NotAfter, Fingerprint: s.Layout,
	}
	if hadWindow(s) {
		left := float64(millisLeft(s, now)) / 1000
		o.WindowEnd, o.WindowLeft = timeOrNull(s.Until), &left
	}
	return o
}

// hadWindow tells whether s ever had a window.
func hadWindow(s coord.Slot) bool { return s.NotAfter != 0 }

func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(timeForm)
	return &s
}

// millisLeft is how long the window of s is still open, by the clock that says now.
func millisLeft(s coord.Slot, now time.Time) int64 { return s.Until.UnixMilli() - now.UnixMilli() }

// chosen returns the slots in the order in which they are shown: those that are held,
// then, unless only these are wanted, the free ones and the retired ones.
func chosen(slots []coord.Slot, onlyHeld bool) []coord.Slot {
	order := []coord.SlotState{coord.SlotHeld, coord.SlotFree, coord.SlotRetired}
	if onlyHeld {
		order = order[:1]
	}
	var out []coord.Slot
	for _, state := range order {
		for _, s := range slots {
			if s.State == state {
				out = append(out, s)
			}
		}
	}
	return out
}

// slotTable returns the slots as a table, as of now; nothing if there are none.
func slotTable(slots []coord.Slot, now time.Time) string {
	if len(slots) == 0 {
		return ""
	}
	rows := []byte("WORKER ID\tSTATE\tHOLDER\tIDENTITY\tSINCE\tWINDOW LEFT\tGENERATION\n")
	for _, s := range slots {
		rows = fmt.Appendf(rows, "%d\t%v\t%s\t%s\t%s\t%s\t%d\n", s.WorkerID, s.State,
			printable(s.Holder), printable(s.Identity), timeOrDash(s.Since), describeWindow(s, now),
			s.Generation)
	}
	return string(columns(rows))
}

// timeOrDash prints a time in a table.
func timeOrDash(t time.Time) string {
	if s := timeOrNull(t); s != nil {
		return *s
	}
	return "-"
}

// printable returns a name that a holder has chosen so that it does no harm to a
// terminal or a table.
func printable(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// holderName names the holder of s and its identity, if it has one.
func holderName(s coord.Slot) string {
	name := printable(s.Holder)
	if s.Identity != "" {
		name += " (identity " + printable(s.Identity) + ")"
	}
	return name
}

// describeWindow says how long a window is still open, or how long ago it ended.
func describeWindow(s coord.Slot, now time.Time) string {
	if !hadWindow(s) {
		return "-"
	}
	left := millisLeft(s, now)
	if left <= 0 {
		return "ended " + describe(-left) + " ago"
	}
	return describe(left)
}

// summary says in one line how many worker IDs there are of each kind, and how far
// windows reach. Those that were never granted are counted only if the slots are those
// of the whole namespace. The lines after it, if there are any, are about all of it.
func summary(slots []coord.Slot, n coord.Namespace, whole bool, now time.Time) string {
	return summaryOfSlots(slots, n, whole, now) + describeHorizon(n) + describeFloor(n, now)
}

// describeHorizon says, in a line, what longest horizon a namespace was declared with;
// nothing if with none.
func describeHorizon(n coord.Namespace) string {
	if n.MaxHorizon == 0 {
		return ""
	}
	return fmt.Sprintf("windows reach up to %v ahead, as the namespace was declared: so long nothing "+
		"is granted after a loss of state\n", n.MaxHorizon)
}

func summaryOfSlots(slots []coord.Slot, n coord.Namespace, whole bool, now time.Time) string {
	switch {
	case len(slots) == 0 && whole && n.Layout == "":
		return "there is no such namespace, or it is new: no worker ID was ever granted\n"
	case len(slots) == 0:
		return "no worker ID was ever granted\n"
	}
	count := map[coord.SlotState]int{}
	var latest coord.Slot
	for _, s := range slots {
		count[s.State]++
		if s.State != coord.SlotRetired && s.Until.After(latest.Until) {
			latest = s
		}
	}
	free := fmt.Sprintf("%d free", count[coord.SlotFree])
	total := ""
	if l, err := core.ParseLayout(slots[0].Layout); whole && err == nil {
		never := l.Workers() - len(slots)
		free = fmt.Sprintf("%s free (%s of them never granted)",
			group(fmt.Sprint(count[coord.SlotFree]+never)), group(fmt.Sprint(never)))
		total = fmt.Sprintf(", of %s", group(fmt.Sprint(l.Workers())))
	}
	line := fmt.Sprintf("%d held, %s, %d retired%s", count[coord.SlotHeld], free,
		count[coord.SlotRetired], total)
	if !latest.Until.IsZero() {
		line += fmt.Sprintf("; the latest window, of worker ID %d, reaches %s", latest.WorkerID,
			describeWhen(latest.Until, now))
	}
	return line + "\n"
}

// describeFloor says, in a line, what keeps a namespace from granting worker IDs as of
// now; nothing if nothing does.
func describeFloor(n coord.Namespace, now time.Time) string {
	switch {
	case n.Closed:
		return "the namespace is closed, because another one follows it: nothing is granted any more\n"
	case n.Floor.After(now):
		return fmt.Sprintf("nothing is granted, and no window extended, before %s\n",
			describeWhen(n.Floor, now))
	}
	return ""
}

// describeWhen prints t, and how far it is from now.
func describeWhen(t, now time.Time) string {
	text := t.UTC().Format(timeForm)
	left := t.UnixMilli() - now.UnixMilli()
	if left <= 0 {
		return text + ", " + describe(-left) + " ago"
	}
	return text + ", in " + describe(left)
}
