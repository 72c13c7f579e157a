package worker

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/segment"
)

// Kinds of an [Event].
const (
	Ready  = "ready"  // a generator has started: it has its worker IDs, and can issue
	Change = "change" // a generator can issue again, or no longer, or has other worker IDs
	Failed = "error"  // a generator could not be started, or a call of it has failed
	Closed = "closed" // a generator was closed, with or without an error
)

// Event is something that happened in a worker. One event is one line of JSON on its standard
// output.
type Event struct {
	At        int64 // journal.Now
	Kind      string
	Generator string
	Healthy   bool
	Workers   []int  // the worker IDs that the generator holds
	Issued    uint64 // IDs so far, as the generator counts them
	// the texts of the sentinel errors that Text stands for
	Causes []string
	Text   string // the error, empty: none
}

// Is reports whether the event is of the given kind and, if a cause is given, has that cause.
func (e Event) Is(kind string, cause error) bool {
	return e.Kind == kind && (cause == nil || slices.Contains(e.Causes, cause.Error()))
}

// sentinels are the errors that an event can have as causes.
var sentinels = []error{
	core.ErrClockRollback, core.ErrWindowNotOpen, core.ErrWindowEnded, core.ErrTimeExhausted,
	coord.ErrNoWorkerID, coord.ErrLeaseLost, coord.ErrQuarantined, coord.ErrLayoutMismatch,
	coord.ErrClockSkew, coord.ErrInvalid,
	segment.ErrStoreChanged, segment.ErrWentBack, segment.ErrUnavailable,
	client.ErrUnavailable, client.ErrRefused, client.ErrMixed,
}

// causes returns the sentinel errors in err.
func causes(err error) (texts []string) {
	for _, s := range sentinels {
		if errors.Is(err, s) {
			texts = append(texts, s.Error())
		}
	}
	return texts
}

// last is what failed at last, as an event has told; nil: nothing did.
type last struct{ why *string }

// isNew reports whether a failure has other causes than the last one: the texts of two that have
// the same may differ in times. Nil is the end of a failure.
func (l *last) isNew(err error) bool {
	if err == nil {
		l.why = nil
		return false
	}
	why := strings.Join(causes(err), ", ")
	same := l.why != nil && *l.why == why
	l.why = &why
	return !same
}

// events writes events, one line each.
type events struct {
	mu  sync.Mutex
	out io.Writer
}

// tell writes an event, with the time and with what err says.
func (e *events) tell(ev Event, err error) {
	ev.At = journal.Now()
	if err != nil {
		ev.Text, ev.Causes = err.Error(), causes(err)
	}
	line, err := json.Marshal(ev)
	if err != nil {
		return // there is nothing in an Event that cannot be written
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.out.Write(append(line, '\n')) // without a parent, this process is about to be killed
}

// describe fills in what a generator's health says.
func describe(kind, name string, h core.Health) Event {
	ev := Event{Kind: kind, Generator: name, Healthy: h.Healthy, Issued: h.Issued}
	for _, w := range h.Workers {
		ev.Workers = append(ev.Workers, w.WorkerID)
	}
	return ev
}
