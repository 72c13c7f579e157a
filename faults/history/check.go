package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/unalike-id/unalike/faults/journal"
)

// Outcome is what [Check] has found.
type Outcome struct {
	Calls   int // in all files
	Unclear int // of those, calls that failed otherwise than with coord.ErrLeaseLost, or have no end
	Workers int // worker IDs that were acquired
	// Illegal describes results that no order of the calls explains, one text for each
	// worker ID, and results that are wrong by themselves.
	Illegal []string
	// Undecided are the worker IDs for which the time did not suffice.
	Undecided []int
}

// Check reads the files that [Record] has written for all coordinators of one namespace, on
// one machine, and reports whether an order of the calls explains all results, see the
// package comment. The search ends after limit; 0 means that it has no limit. Rules allow what was done to the
// back end. The error is about files that cannot be read; it wraps [ErrDamaged] if they
// are damaged.
func Check(paths []string, limit time.Duration, rules ...Rule) (Outcome, error) {
	var all Rule
	for _, r := range rules {
		all |= r
	}
	var steps []step
	for _, path := range paths {
		calls, err := read(path)
		if err != nil {
			return Outcome{}, err
		}
		for _, c := range calls {
			steps = append(steps, step{call: c, file: path})
		}
	}
	out := Outcome{Calls: len(steps)}
	for _, s := range steps {
		if !s.succeeded() && !s.refused() {
			out.Unclear++
		}
		if fault := s.fault(); fault != "" {
			out.Illegal = append(out.Illegal, fmt.Sprintf("%s: %s", s, fault))
		}
	}
	workers := partition(steps)
	out.Workers = len(workers)
	deadline := journal.Now() + int64(limit)
	for _, w := range slices.Sorted(maps.Keys(workers)) {
		var left time.Duration // none
		if limit != 0 {
			left = max(time.Duration(deadline-journal.Now()), time.Nanosecond)
		}
		out.decide(w, workers[w], all, left)
	}
	return out, nil
}

// decide looks for a legal order of the calls of a worker ID.
func (o *Outcome) decide(worker int, steps []step, rules Rule, limit time.Duration) {
	ops := make([]porcupine.Operation, len(steps))
	for i, s := range steps {
		ops[i] = porcupine.Operation{Input: s, Call: s.begin.At, Return: s.returns()}
	}
	switch porcupine.CheckOperationsTimeout(model(rules), ops, limit) {
	case porcupine.Unknown:
		o.Undecided = append(o.Undecided, worker)
	case porcupine.Illegal:
		// Once more, for the reason: that is not collected where it costs time and memory for nothing.
		_, info := porcupine.CheckOperationsVerbose(model(rules), ops, limit)
		o.Illegal = append(o.Illegal, explain(worker, steps, rules, info.PartialLinearizationsOperations()))
	case porcupine.Ok:
	}
}

// explain describes the longest legal beginning of an order, and the calls that came next.
func explain(worker int, steps []step, rules Rule, orders [][][]porcupine.Operation) string {
	var longest []porcupine.Operation
	for _, partition := range orders {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	var state slot
	done := map[string]bool{}
	for _, op := range longest {
		s := op.Input.(step)
		state, _ = state.after(s, rules)
		done[s.key()] = true
	}
	text := fmt.Sprintf("worker ID %d: of %d calls, no order explains more than %d; after these it is %v; then came", worker, len(steps), len(longest), state)
	shown := 0
	for _, s := range steps {
		if !done[s.key()] && shown < 3 {
			text += "\n  " + s.String()
			shown++
		}
	}
	return text
}

// key names a call among those of all files.
func (s step) key() string { return fmt.Sprint(s.file, "#", s.begin.Call) }

// returns is when the call was over: never, if its outcome is unknown.
func (s step) returns() int64 {
	if s.succeeded() || s.refused() {
		return s.end.At
	}
	return math.MaxInt64
}

// partition returns the calls that matter for each worker ID, in the order of their begin.
func partition(steps []step) map[int][]step {
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.begin.At, b.begin.At) })
	workers := map[int][]step{}
	var unclear []step // acquisitions
	for _, s := range steps {
		switch s.begin.Op {
		case opAcquire:
			if s.succeeded() {
				workers[s.end.Grant.Worker] = append(workers[s.end.Grant.Worker], s)
			} else {
				unclear = append(unclear, s)
			}
		case opRenew:
			if s.succeeded() || s.refused() {
				workers[s.begin.Grant.Worker] = append(workers[s.begin.Grant.Worker], s)
			}
		case opRetire:
			workers[s.begin.Worker] = append(workers[s.begin.Worker], s)
		default:
			workers[s.begin.Grant.Worker] = append(workers[s.begin.Grant.Worker], s)
		}
	}
	for w, own := range workers {
		for i := range own {
			own[i].excused = slices.ContainsFunc(unclear, func(a step) bool {
				share := *a.begin.Workers
				return w >= share.First && (share.Count == 0 || w-share.First < share.Count) && a.begin.At <= own[i].returns()
			})
		}
	}
	return workers
}

// fault describes what is wrong with the result of a call by itself; empty: nothing.
func (s step) fault() string {
	if !s.succeeded() || s.end.Grant == nil {
		return ""
	}
	g, old := *s.end.Grant, s.begin.Grant
	switch s.begin.Op {
	case opAcquire:
		share := *s.begin.Workers
		switch {
		case g.Token != s.begin.Token:
			return "the grant has another token"
		case g.Worker < share.First || share.Count != 0 && g.Worker-share.First >= share.Count:
			return fmt.Sprintf("the worker ID is not one of %v", share)
		case g.Generation == 0:
			return "the generation is 0"
		case s.begin.LastTick != 0 && g.NotAfter > s.begin.LastTick:
			return fmt.Sprintf("the window ends after the layout's last tick, %d", s.begin.LastTick)
		}
	case opRenew, opResume:
		token, generation := old.Token, old.Generation
		if s.begin.Op == opResume {
			token, generation = s.begin.Token, generation+1
		}
		switch {
		case g.Worker != old.Worker || g.Token != token || g.Generation != generation:
			return "the grant is another one"
		case g.NotBefore != old.NotBefore && g.NotBefore <= old.NotAfter:
			return "the window begins anew inside the old one"
		case g.NotAfter < old.NotAfter:
			return "the window ends earlier"
		}
	}
	if g.NotAfter < g.NotBefore || g.NotBefore < 0 {
		return "the window ends before it begins"
	}
	return ""
}

// String describes the call for a report.
func (s step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s call %d: %s", s.file, s.begin.Call, s.begin.Op)
	if g := s.begin.Grant; g != nil {
		fmt.Fprintf(&b, " of %v", g)
	}
	switch s.begin.Op {
	case opAcquire, opResume:
		fmt.Fprintf(&b, " token %q", s.begin.Token)
	case opRelease:
		fmt.Fprintf(&b, " last tick %d", s.begin.Last)
	case opRetire:
		fmt.Fprintf(&b, " worker ID %d", s.begin.Worker)
	}
	switch {
	case s.end == nil:
		b.WriteString(" has no end")
	case s.end.Error != "":
		fmt.Fprintf(&b, " failed: %s", s.end.Error)
	case s.end.Grant != nil:
		fmt.Fprintf(&b, " returned %v", s.end.Grant)
	default:
		b.WriteString(" succeeded")
	}
	return b.String()
}

// String describes the grant for a report.
func (g *grant) String() string {
	return fmt.Sprintf("worker ID %d, generation %d, token %q, window (%d, %d]", g.Worker, g.Generation, g.Token, g.NotBefore, g.NotAfter)
}
