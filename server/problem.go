package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
)

// problem is an error as RFC 9457 has it.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
	// Message is what Leaf says, for its clients.
	Message string `json:"message,omitempty"`

	retry time.Duration // after which trying again may help; 0: it is not said
	// reason is why the request was refused, in one of a few words; empty: it was not for a bound or
	// for who asked.
	reason string
	// expected is that it has status 500 only because Leaf's clients expect that.
	expected bool
	// repair reports whether an operator has to repair the store.
	repair bool
}

// Error implements error.
func (p *problem) Error() string { return p.Title + ": " + p.Detail }

func problemf(status int, format string, args ...any) *problem {
	return &problem{
		Status: status, Title: http.StatusText(status),
		Detail: fmt.Sprintf(format, args...),
	}
}

// refusal is a problem of a request that was refused for a reason that is counted.
func refusal(reason string, status int, text string, args ...any) *problem {
	p := problemf(status, text, args...)
	p.reason = reason
	return p
}

// later is a problem that trying again soon may help with.
func later(text string) *problem {
	p := problemf(unavailable, "%s", text)
	p.retry = retrySoon
	return p
}

// write sends the problem.
func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if p.retry > 0 {
		h.Set(retryAfter, p.after())
	}
	p.challenge(h)
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{}`) // strings and a number can always be marshalled
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // who does not read it has gone
}

const retryAfter = "Retry-After"

// after returns when trying again may help, as the header has it.
func (p *problem) after() string { return strconv.Itoa(int(math.Ceil(p.retry.Seconds()))) }

// challenge asks for a token if one is needed.
func (p *problem) challenge(h http.Header) {
	if p.Status == http.StatusUnauthorized {
		// Chromium reads one of each line.
		//mutant:challenges
		h["Www-Authenticate"] = []string{`Basic realm="unalike"`, `Bearer realm="unalike"`}
	}
}

const (
	retrySoon = time.Second
	retryMost = time.Minute
)

// kind is what callers read of an error.
type kind struct {
	err    error
	status int
	retry  time.Duration // 0: trying again does not help
	detail string        // empty: the text of err
}

const (
	unavailable = http.StatusServiceUnavailable
	waitOver    = "the time to wait was over"
)

// kinds are the errors of generators and sequences, with what every caller may read of them. Of
// several that fit the first one counts. What is not among them should not happen.
var kinds = []kind{
	{errNotOpen, unavailable, retrySoon, ""}, // whatever it wraps: it is tried again
	{core.ErrTimeExhausted, unavailable, 0, ""},
	{core.ErrNotStarted, unavailable, retrySoon, ""},
	{core.ErrWindowEnded, unavailable, retrySoon, ""},
	{core.ErrWindowNotOpen, unavailable, retrySoon, ""},
	{core.ErrClockRollback, unavailable, retrySoon, ""},
	{core.ErrSequenceExhausted, unavailable, retrySoon, ""},
	{core.ErrClosed, unavailable, retrySoon, ""},
	{segment.ErrExhausted, unavailable, 0, ""},
	{segment.ErrUnavailable, unavailable, retrySoon, ""},
	{segment.ErrWentBack, unavailable, retrySoon, ""},
	{segment.ErrStoreChanged, unavailable, retrySoon, ""},
	{segment.ErrClosed, unavailable, retrySoon, ""},
	{context.DeadlineExceeded, unavailable, retrySoon, waitOver},
	{context.Canceled, unavailable, retrySoon, waitOver},
	{
		segment.ErrUnknownTag, http.StatusNotFound, 0,
		"there is no such tag; GET /v1/sequences lists them",
	},
	{segment.ErrDamaged, unavailable, 0, ""},
	{segment.ErrPruned, http.StatusNotFound, 0, ""},
	{segment.ErrNotBegun, http.StatusBadRequest, 0, ""},
	{segment.ErrNoGroups, http.StatusBadRequest, 0, ""},
	{segment.ErrInvalidConfig, unavailable, 0, "the store of the tags refuses the server's call"},
}

// problemOf turns an error of a generator or a sequence into a problem. The text of the error may
// name coordinators and holders, and only who may operate sees it.
func problemOf(err error, detailed bool) *problem {
	var own *problem
	if errors.As(err, &own) {
		return own
	}
	p := &problem{Status: http.StatusInternalServerError}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			p.Status, p.Detail, p.retry = k.status, cmp.Or(k.detail, k.err.Error()), k.retry
			break
		}
	}
	p.Title = http.StatusText(p.Status)
	p.repair = !errors.Is(err, errNotOpen) &&
		(errors.Is(err, segment.ErrDamaged) || errors.Is(err, segment.ErrInvalidConfig))
	if unopened, notOpen := errors.AsType[*core.WindowNotOpenError](err); notOpen {
		p.retry = min(max(unopened.Opens.Sub(unopened.Now), retrySoon), retryMost)
	}
	if detailed && p.Status >= http.StatusInternalServerError {
		p.Detail = err.Error()
	}
	return p
}

// problem returns the problem of an error that a request to where has met, and logs what should not
// happen, and what is refused.
func (s *Server) problem(where string, err error, detailed bool) *problem {
	p := problemOf(err, detailed)
	if p.reason != "" {
		s.Refused(p.reason)
	}
	switch {
	case p.Status == http.StatusInternalServerError && !p.expected:
		s.log.Error("a request failed", "path", where, "error", err)
	case p.repair && s.repairs.due() > 0: //mutant:store-log
		s.log.Warn("the store gives no numbers, and an operator has to repair it", "error", err)
	}
	return p
}
