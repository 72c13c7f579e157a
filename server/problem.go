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
	allow string        // the methods that are allowed
	// reason is why the request was refused, in one of a few words; empty: it was not for a bound or
	// for who asked.
	reason string
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

// write sends the problem.
func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if p.retry > 0 {
		h.Set(retryAfter, p.after())
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
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

// kinds are the errors of generators and sequences, with what every caller may read of them. Of
// several that fit the first one counts. What is not among them should not happen.
var kinds = []struct {
	err    error
	status int
	retry  time.Duration // 0: trying again does not help
	detail string        // empty: the text of err
}{
	{err: core.ErrTimeExhausted, status: http.StatusServiceUnavailable},
	{err: core.ErrNotStarted, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: core.ErrWindowEnded, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: core.ErrWindowNotOpen, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: core.ErrClockRollback, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: core.ErrSequenceExhausted, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: core.ErrClosed, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: segment.ErrExhausted, status: http.StatusServiceUnavailable},
	{err: segment.ErrUnavailable, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: segment.ErrWentBack, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: segment.ErrStoreChanged, status: http.StatusServiceUnavailable, retry: retrySoon},
	{err: segment.ErrClosed, status: http.StatusServiceUnavailable, retry: retrySoon},
	{
		err: context.DeadlineExceeded, status: http.StatusServiceUnavailable, retry: retrySoon,
		detail: waitOver,
	},
	{err: context.Canceled, status: http.StatusServiceUnavailable, retry: retrySoon, detail: waitOver},
	{
		err: segment.ErrUnknownTag, status: http.StatusNotFound,
		detail: "there is no such tag; GET /v1/sequences lists them",
	},
	{
		err: segment.ErrInvalidConfig, status: http.StatusBadRequest,
		detail: fmt.Sprintf("a tag is 1 to %d characters of printable UTF-8 without spaces at its ends",
			segment.MaxTag),
	},
}

const waitOver = "the time to wait was over"

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
	if p.Status == http.StatusInternalServerError {
		s.log.Error("a request failed", "path", where, "error", err)
	}
	return p
}
