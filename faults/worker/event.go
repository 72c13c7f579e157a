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
	Started = "started" // the process runs; it has no generator yet
	Ready   = "ready"   // a generator has started: it has its worker IDs, and can issue
	Change  = "change"  // a generator can issue again, or no longer, or has other worker IDs
	Failed  = "error"   // a generator could not be started, or a call of it has failed
	Closed  = "closed"  // a generator was closed, with or without an error
)

// Event is something that happened in a worker. One event is one line of JSON on its standard
// output.
type Event struct {
	At        int64  `json:"at"` // journal.Now
	Kind      string `json:"kind"`
	Generator string `json:"generator,omitempty"`
	Healthy   bool   `json:"healthy,omitempty"`
	Workers   []int  `json:"workers,omitempty"` // the worker IDs that the generator holds
	Issued    uint64 `json:"issued,omitempty"`  // IDs so far, as the generator counts them
	// the sentinel errors that Text stands for, in the words of Causes
	Causes []string `json:"causes,omitempty"`
	Text   string   `json:"text,omitempty"` // the error, empty: none
}

// Is reports whether the event is of the given kind and, if a cause is given, has that cause.
func (e Event) Is(kind, cause string) bool {
	return e.Kind == kind && (cause == "" || slices.Contains(e.Causes, cause))
}

// Causes of an event.
const (
	ClockRollback  = "clock rollback"
	WindowNotOpen  = "window not open"
	WindowEnded    = "window ended"
	TimeExhausted  = "time exhausted"
	NoWorkerID     = "no worker ID"
	LeaseLost      = "lease lost"
	Quarantined    = "quarantined"
	LayoutMismatch = "layout mismatch"
	ClockSkew      = "clock skew"
	Invalid        = "invalid"
	StoreChanged   = "store changed"
	WentBack       = "store went back"
	Unavailable    = "store unavailable"
	NoServer       = "no server"
	Refused        = "refused by servers"
	Mixed          = "servers of different namespaces"
)

// sentinels are the errors that have a name in an event.
var sentinels = []struct {
	err  error
	name string
}{
	{core.ErrClockRollback, ClockRollback},
	{core.ErrWindowNotOpen, WindowNotOpen},
	{core.ErrWindowEnded, WindowEnded},
	{core.ErrTimeExhausted, TimeExhausted},
	{coord.ErrNoWorkerID, NoWorkerID},
	{coord.ErrLeaseLost, LeaseLost},
	{coord.ErrQuarantined, Quarantined},
	{coord.ErrLayoutMismatch, LayoutMismatch},
	{coord.ErrClockSkew, ClockSkew},
	{coord.ErrInvalid, Invalid},
	{segment.ErrStoreChanged, StoreChanged},
	{segment.ErrWentBack, WentBack},
	{segment.ErrUnavailable, Unavailable},
	{client.ErrUnavailable, NoServer},
	{client.ErrRefused, Refused},
	{client.ErrMixed, Mixed},
}

// causes returns the names of the sentinel errors in err.
func causes(err error) (names []string) {
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			names = append(names, s.name)
		}
	}
	return names
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
