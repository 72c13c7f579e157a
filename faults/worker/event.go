package worker

import (
	"encoding/json"
	"errors"
	"os"
	"slices"

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

// isNew reports whether err is a failure with other causes than the one before it, if there was
// one: the texts of two that have the same may differ in times.
func isNew(err, before error) bool {
	return err != nil && (before == nil || !slices.Equal(causes(err), causes(before)))
}

// tell writes an event of a generator: what its health says, and what err says. It may be used
// concurrently.
func (g *instance) tell(kind string, h core.Health, err error) {
	ev := Event{
		At: journal.Now(), Kind: kind, Generator: g.Name, Healthy: h.Healthy, Issued: h.Issued,
	}
	for _, w := range h.Workers {
		ev.Workers = append(ev.Workers, w.WorkerID)
	}
	if err != nil {
		ev.Text, ev.Causes = err.Error(), causes(err)
	}
	line, _ := json.Marshal(ev)                // there is nothing in an Event that cannot be written
	_, _ = os.Stdout.Write(append(line, '\n')) // fails where journals do
}
