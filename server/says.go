package server

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
)

const (
	// startTime is for how long a server that was never ready is one that starts, and no trouble.
	startTime = 30 * time.Second
	// atCeiling and nearCeiling are shares of a ceiling, of which a generator never reaches all.
	atCeiling, nearCeiling = 0.95, 0.8
	// expiresSoon is how long before the end of a layout's time bits the page says so.
	expiresSoon = 365 * 24 * time.Hour
)

// levels of what the page says.
const (
	levelDown = "down" // somebody gets no IDs or numbers
	levelWarn = "warn"
	levelNote = "note"
	levelWell = "well"
)

// urgency is in which order the levels come; what has none comes with what is well.
var urgency = map[string]int{levelDown: -2, levelWarn: -1, levelNote: 1}

// remark is a sentence about the state of the server.
type remark struct {
	Level  string `json:"level"`
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"` // the errors
}

// says puts facts into words: first the sentence that matters most, and then the others.
func says(f *facts) []remark {
	all := remarks(f)
	slices.SortStableFunc(all, func(a, b remark) int { return urgency[a.Level] - urgency[b.Level] })
	first := remark{Level: levelWell, Text: wellOf(f)}
	switch {
	case f.stopping:
		first = remark{
			Level: levelWarn,
			Text:  "Stopping: what is under way ends, and worker IDs are given back.",
		}
	case len(all) == 0 || all[0].Level == levelNote:
	case all[0].Level == levelDown && !f.wasReady && f.up < startTime:
		first, all = all[0], all[1:]
		first.Level, first.Text = levelWarn, "Starting. "+first.Text
	default:
		return all
	}
	return append([]remark{first}, all...)
}

// wellOf says what is well.
func wellOf(f *facts) string {
	var all []string
	if n := len(f.generators); n > 0 || !f.segments {
		all = append(all, counted(n, "generator issues", "generators issue")+" IDs")
	}
	if f.segments {
		all = append(all, "no tag lacks numbers")
	}
	return "All is well: " + strings.Join(all, ", and ") + "."
}

// remarks are about all that is not well.
func remarks(f *facts) (all []remark) {
	var down group
	for i := range f.generators {
		if g := &f.generators[i]; !g.health.Healthy {
			down.add(g.name, whyNoIDs(g.health.Err), g.health.Err)
			continue
		}
		all = append(all, f.generatorRemarks(&f.generators[i])...)
	}
	if n := len(f.generators); n > 1 {
		all = down.remark(all, levelDown, fmt.Sprintf("%d of %d generators %s no IDs: ", down.n, n,
			plural(down.n, "issues", "issue")))
	} else {
		all = down.remark(all, levelDown, "No IDs from generator ")
	}
	if f.segments {
		all = append(all, f.tagRemarks()...)
	}
	return append(all, f.callerRemarks()...)
}

// callerRemarks are about callers that the server refuses though they may be right.
func (f *facts) callerRemarks() (all []remark) {
	if f.tokens != nil {
		all = append(all, remark{
			levelWarn, "Files of tokens cannot be read; the tokens that were read last count.",
			f.tokens.Error(),
		})
	}
	if n := f.past.minute("refusals connections"); n > 0 {
		all = append(all, remark{
			levelWarn, "Connections were closed in the last minute to make room for others: " + figure(n) +
				".", "",
		})
	}
	if n := f.past.minute("refusals requests"); n > 0 {
		all = append(all, remark{
			levelWarn, "Requests were refused in the last minute because too many were in flight: " +
				figure(n) + ".", "",
		})
	}
	return all
}

// generatorRemarks are about a generator that issues IDs.
func (f *facts) generatorRemarks(g *generatorFacts) (all []remark) {
	warn := func(err error, format string, args ...any) {
		all = append(all, remark{
			levelWarn, "Generator " + g.name + " " + fmt.Sprintf(format, args...),
			textOf(err),
		})
	}
	h := g.health
	for _, w := range h.Workers {
		switch {
		case w.Err != nil && w.WorkerID < 0:
			warn(w.Err, "has no worker ID for one of its stripes, because %s; it goes on with the others.",
				whyNoIDs(w.Err))
		case w.Err != nil:
			warn(w.Err, "issues no IDs with worker ID %d, because %s; it goes on with the others.",
				w.WorkerID, whyNoIDs(w.Err))
		case w.StateFile && w.MarkLeft == 0:
			warn(w.Failing, "cannot write its state file, and is about to issue no IDs: look at the disk.")
		case w.Failing != nil:
			warn(w.Failing, "goes on for %s without a renewal, because %s.", span(w.WindowLeft),
				whyNoIDs(w.Failing))
		}
	}
	if n := f.past.minute("rollbacks " + g.name); n > 0 {
		warn(nil, "met a clock that stepped back in the last minute, %s; IDs stay unique.",
			counted(int(n), "time", "times"))
	}
	switch share := f.past.rate("ids "+g.name) / g.ceiling(); {
	case share >= atCeiling:
		warn(nil, "has reached its ceiling of %s IDs/s: callers wait. More stripes or "+
			"instances raise it.", figure(g.ceiling()))
	case share >= nearCeiling:
		warn(nil, "is near its ceiling of %s IDs/s. More stripes or instances raise it.",
			figure(g.ceiling()))
	}
	if g.workers != nil && g.workers.free == 0 {
		warn(nil, "has no worker ID left for another instance: all %s are used up.",
			figure(float64(g.workers.of)))
	}
	if end := g.layout.Expires(); end.Sub(f.now) < expiresSoon {
		warn(nil, "has no more time bits after %s: plan the move to another layout.",
			end.UTC().Format(time.DateOnly))
	}
	for _, text := range h.Warnings {
		all = append(all, remark{levelNote, "Generator " + g.name + ": " + text, ""})
	}
	return all
}

// tagRemarks are about tags without numbers, or whose store does not give any more.
func (f *facts) tagRemarks() (all []remark) {
	if f.store != nil && len(f.tags) == 0 {
		return []remark{{
			levelDown, "No numbers for any tag, because " + whyNoNumbers(f.store) + ".",
			textOf(f.store),
		}}
	}
	var down, failing group
	for _, h := range f.tags {
		switch why := whyNoNumbers(h.Failing); {
		case h.Failing == nil:
		case h.Err != nil:
			down.add(h.Tag, why, h.Err)
		case h.TimeLeft > 0:
			failing.add(h.Tag, why+": what is in memory lasts "+span(h.TimeLeft), h.Failing)
		default:
			failing.add(h.Tag, why+": "+counted(int(h.Left), "number is", "numbers are")+
				" left in memory", h.Failing)
		}
	}
	if f.store != nil && down.n == 0 {
		all = append(all, remark{levelDown, "No numbers for tags that have none in memory, because " +
			whyNoNumbers(f.store) + ".", textOf(f.store)})
	}
	all = down.remark(all, levelDown, fmt.Sprintf("No numbers for %s: ",
		counted(down.n, "tag", "tags")))
	return failing.remark(all, levelWarn, fmt.Sprintf("No refill for %s: ",
		counted(failing.n, "tag", "tags")))
}

// group is some of one kind that are not well.
type group struct {
	names []string // the first few, with why
	n     int
	err   error // of the first
}

// most is how many of a group are named.
const most = 3

func (g *group) add(name, why string, err error) {
	if g.n++; g.n == 1 {
		g.err = err
	}
	if g.n <= most {
		g.names = append(g.names, name+", because "+why)
	}
}

// remark adds one about the group, if there is anything in it.
func (g *group) remark(all []remark, level, begin string) []remark {
	if g.n == 0 {
		return all
	}
	if g.n > most {
		g.names = append(g.names, fmt.Sprintf("and %d more", g.n-most))
	}
	return append(all, remark{level, begin + strings.Join(g.names, "; ") + ".", textOf(g.err)})
}

// reason is what the page says for an error.
type reason struct {
	err  error
	text string
}

var (
	noIDs = []reason{
		{core.ErrClockRollback, "the clock of this machine stepped back"},
		{core.ErrTimeExhausted, "the time bits of its layout are used up"},
		{core.ErrClosed, "it is closed"},
		{coord.ErrNoWorkerID, "all worker IDs are used up"},
		{coord.ErrQuarantined, "its namespace is in quarantine"},
		{coord.ErrNamespaceClosed, "its namespace is closed and another one follows it"},
		{coord.ErrLayoutMismatch, "its namespace has another layout"},
		{coord.ErrClockSkew, "the clocks of this machine and of its coordinator differ"},
		{coord.ErrInvalid, "its coordinator refuses it"},
		{core.ErrWindowNotOpen, "an earlier window has to end first"},
	}
	noNumbers = []reason{
		{segment.ErrUnknownTag, "the store does not have it"},
		{segment.ErrExhausted, "its numbers are used up"},
		{segment.ErrWentBack, "the store went back"},
		{segment.ErrStoreChanged, "the store is another server"},
		{segment.ErrDamaged, "what the store has of it is damaged"},
		{segment.ErrPruned, "its group was removed from the store"},
		{segment.ErrClosed, "it is closed"},
		{segment.ErrInvalidConfig, "the store refuses, and somebody has to repair it"},
	}
)

// whyNoIDs says in a few words why a generator has no IDs, or gets no more.
func whyNoIDs(err error) string {
	var file *fs.PathError
	if errors.As(err, &file) {
		return "the file " + file.Path + " cannot be used"
	}
	if start, ok := errors.AsType[*core.NotStartedError](err); ok && start.Cause == nil {
		return "its coordinator has not answered yet"
	}
	if notOpen, ok := errors.AsType[*core.WindowNotOpenError](err); ok {
		return "an earlier window has to end first, which is in " + span(notOpen.Opens.Sub(notOpen.Now))
	}
	return whyOf(err, noIDs, "its coordinator does not answer")
}

// whyNoNumbers says in a few words why a tag has no numbers, or gets no more.
func whyNoNumbers(err error) string {
	if err == errNotOpen { //nolint:errorlint // without a cause
		return "the store has not answered yet"
	}
	return whyOf(err, noNumbers, "the store does not answer")
}

func whyOf(err error, known []reason, otherwise string) string {
	for _, r := range known {
		if errors.Is(err, r.err) {
			return r.text
		}
	}
	return otherwise
}

// figures are what changes in a text while what it is about stays the same: times, durations and
// numbers.
var figures = regexp.MustCompile(`[0-9][^ ,;")]*`)

// sameWords reports whether two texts are the same apart from their figures.
func sameWords(a, b string) bool {
	return a == b || figures.ReplaceAllString(a, "") == figures.ReplaceAllString(b, "")
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
