package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/unalike-id/unalike/coord"
)

// ErrDamaged is wrapped by the errors about files that [Record] does not leave behind,
// whenever its process is killed.
var ErrDamaged = errors.New("history: damaged file")

// The operations of a coordinator that are recorded.
const (
	opAcquire = "acquire"
	opRenew   = "renew"
	opResume  = "resume"
	opRelease = "release"
	opRetire  = "retire"
)

// line is the begin or the end of a call, as one line of JSON in a file. The end of a call
// has its Call and no Op.
type line struct {
	Call int64  `json:"call"` // counts the calls of a file from 1 on
	Op   string `json:"op,omitempty"`
	At   int64  `json:"at"` // see journal.Now

	Token    string       `json:"token,omitempty"`    // Acquire: of the request; Resume: of the successor
	Workers  *coord.Range `json:"workers,omitempty"`  // Acquire: worker IDs to choose from
	LastTick int64        `json:"lastTick,omitempty"` // Acquire: of the layout
	Until    int64        `json:"until,omitempty"`    // Acquire, Renew, Resume: the end that was asked for
	Last     int64        `json:"last,omitempty"`     // Release: the last tick that was stamped
	Worker   int          `json:"worker,omitempty"`   // Retire

	Grant *grant `json:"grant,omitempty"` // that was passed, or that was returned
	Error string `json:"error,omitempty"` // empty at the end of a call: it has succeeded
	Lost  bool   `json:"lost,omitempty"`  // the error is coord.ErrLeaseLost
}

// grant is a grant without the driver's handle.
type grant struct {
	Worker     int    `json:"worker"`
	Generation uint64 `json:"generation"`
	Token      string `json:"token"`
	NotBefore  int64  `json:"notBefore"`
	NotAfter   int64  `json:"notAfter"`
}

func grantOf(g coord.Grant) *grant {
	return &grant{Worker: g.WorkerID, Generation: g.Generation, Token: g.Token, NotBefore: g.NotBefore, NotAfter: g.NotAfter}
}

// call is a call with its end.
type call struct {
	begin line
	end   *line // nil: the process was killed before it
}

// succeeded reports whether the call has returned without an error.
func (c call) succeeded() bool { return c.end != nil && c.end.Error == "" }

// refused reports whether the call has returned coord.ErrLeaseLost.
func (c call) refused() bool { return c.end != nil && c.end.Lost }

// read returns the calls of a file in the order of their begin.
func read(path string) ([]call, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the caller's path
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	var calls []call
	for n := 1; ; n++ {
		one, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			return calls, nil // what follows the last line is one that a killed process began
		}
		text = rest
		var l line
		if err := json.Unmarshal(one, &l); err != nil {
			return nil, fmt.Errorf("%w %s: line %d: %w", ErrDamaged, path, n, err)
		}
		if calls, err = appendLine(calls, l); err != nil {
			return nil, fmt.Errorf("%w %s: line %d %w", ErrDamaged, path, n, err)
		}
	}
}

// appendLine adds what a line says to the calls before it.
func appendLine(calls []call, l line) ([]call, error) {
	if l.Op != "" {
		if l.Call != int64(len(calls))+1 {
			return nil, fmt.Errorf("begins call %d after call %d", l.Call, len(calls))
		}
		return append(calls, call{begin: l}), l.checkBegin()
	}
	if l.Call < 1 || l.Call > int64(len(calls)) {
		return nil, fmt.Errorf("ends call %d, which has no begin", l.Call)
	}
	c := &calls[l.Call-1]
	switch wantsGrant := c.begin.Op == opAcquire || c.begin.Op == opRenew || c.begin.Op == opResume; {
	case c.end != nil:
		return nil, fmt.Errorf("ends call %d, which has an end", l.Call)
	case l.At < c.begin.At:
		return nil, fmt.Errorf("ends call %d before its begin", l.Call)
	case l.Error == "" && wantsGrant && l.Grant == nil:
		return nil, fmt.Errorf("ends call %d without its grant", l.Call)
	}
	c.end = &l
	return calls, nil
}

// checkBegin reports whether the begin of a call has what the model needs.
func (l line) checkBegin() error {
	switch l.Op {
	case opAcquire:
		if l.Workers == nil {
			return errors.New("has no worker IDs to choose from")
		}
	case opRenew, opResume, opRelease:
		if l.Grant == nil {
			return errors.New("has no grant")
		}
	case opRetire:
	default:
		return fmt.Errorf("has the operation %q, which is none", l.Op)
	}
	return nil
}
