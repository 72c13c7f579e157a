package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// api makes requests about the Lease objects of one Kubernetes namespace.
type api struct {
	client *http.Client
	lines  *lines // of the client, if that is this driver's own; nil: it is not
	token  *token // nil: the client adds what is needed
	leases string // the address of the collection
	in     string // the Kubernetes namespace
	role   string // that errors name
}

const (
	// busyPause is how long a request waits that the API server has refused because it is busy, if
	// that does not say for how long.
	busyPause = time.Second
	// largest is how long an answer may be.
	largest = 256 << 20
	// longest is how long a request may take, with its answer, also if its context has no end: far
	// longer than it takes to list all that a namespace can have.
	longest = 10 * time.Second
	// reads is how often a request that changes nothing is made if none is answered, and hasty how long all of
	// them but the last may take: they may go to the one of several servers that hangs. A balancer that knows
	// nothing of them, and leads others, too, may lead to it several times in a row.
	reads, hasty = 4, 3 * time.Second
)

// request is one request.
type request struct {
	verb, method string // as a Role and as HTTP call it
	name         string // of the object; empty: all
	query        url.Values
	content      string // the type of the body
	body         []byte
}

// answer is what the API server sends.
type answer interface{ check(r request) error }

// call makes a request and decodes the answer. It returns the API server's clock, in microseconds since
// 1970, rounded down to seconds; 0: it did not tell. What changes nothing is made again if there is no answer, or
// one of a server that cannot do anything: the next connection may lead to another one.
func (a *api) call(ctx context.Context, r request, out answer) (date int64, err error) {
	for n := 1; ; n++ {
		limit := longest
		if r.method == http.MethodGet && n < reads {
			limit = hasty
		}
		date, err = a.callOnce(ctx, r, out, limit)
		code := codeOf(err)
		if err == nil || r.method != http.MethodGet || n == reads || code > 0 && code < http.StatusInternalServerError || lifetime.Pause(ctx, n) != nil {
			return date, err
		}
	}
}

// callOnce is one attempt. Waits that the API server asks for are made here: nothing was done then.
func (a *api) callOnce(ctx context.Context, r request, out answer, limit time.Duration) (date int64, err error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	anew := false
	for {
		var refused *refused
		if date, refused, err = a.ask(ctx, r, anew, out); refused == nil {
			if err != nil && ctx.Err() != nil && outer.Err() == nil {
				err = fmt.Errorf("%w (for %v)", err, limit)
			}
			return date, err
		}
		switch {
		case refused.code == http.StatusUnauthorized && a.token != nil && !anew:
			anew = true // the token may have rotated
			continue
		case refused.code == http.StatusTooManyRequests:
			if err := wait(ctx, refused.after, refused); err != nil {
				return date, err
			}
			continue
		}
		return date, refused
	}
}

// ask sends a request and reads the answer.
func (a *api) ask(ctx context.Context, r request, anew bool, out answer) (date int64, _ *refused, _ error) {
	var u use
	resp, err := a.send(ctx, r, anew, &u)
	if err != nil {
		return 0, nil, err
	}
	defer drop(resp)
	date = dateOf(resp)
	if resp.StatusCode >= http.StatusMultipleChoices {
		refused := a.refusal(r, resp)
		u.answered(refused.code < http.StatusInternalServerError)
		return date, refused, nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, largest)).Decode(out); err != nil {
		u.givenUp()
		return date, nil, fmt.Errorf("the answer of the API server at %s is not understood: %w", resp.Request.URL.Host, err)
	}
	if err := out.check(r); err != nil {
		return date, nil, fmt.Errorf("the answer of the API server at %s is not understood: %w", resp.Request.URL.Host, err)
	}
	u.answered(true)
	return date, nil, nil
}

// drop ends an answer, so that its connection can be used again.
func drop(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<16)
	_ = resp.Body.Close()
}

// wait waits before a request is made again, if there is time for that. Otherwise it returns why it was refused.
func wait(ctx context.Context, d time.Duration, why error) error {
	if end, ok := ctx.Deadline(); ok && lifetime.Until(end) <= d {
		return why
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w (%w)", context.Cause(ctx), why)
	}
}

// send sends a request, and returns what comes first of the answer.
func (a *api) send(ctx context.Context, r request, anew bool, u *use) (*http.Response, error) {
	at := a.leases
	if r.name != "" {
		at += "/" + r.name
	}
	if len(r.query) > 0 {
		at += "?" + r.query.Encode()
	}
	if a.lines != nil {
		ctx = u.trace(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, at, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "unalike")
	if r.content != "" {
		req.Header.Set("Content-Type", r.content)
	}
	if a.token != nil {
		value, err := a.token.get(anew)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+value)
	}
	resp, err := a.client.Do(req)
	if bad, ok := errors.AsType[*url.Error](err); ok {
		err = bad.Err // which repeats the address
	}
	if err != nil {
		u.givenUp()
		return nil, unreached(req.URL.Host, err)
	}
	return resp, nil
}

// unreached is the error of a request without an answer.
func unreached(host string, err error) error {
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	for _, says := range []string{"HTTP response to HTTPS client", "malformed HTTP"} {
		noTLS = noTLS || strings.Contains(err.Error(), says)
	}
	if noTLS {
		return fmt.Errorf("the server at %s is no API server of Kubernetes: %s: %w", host, question, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("there is no answer from the API server at %s: %w", host, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the server at %s ends connections without an answer: %s: %w", host, question, err)
	}
	return fmt.Errorf("the API server at %s cannot be reached: %w", host, err)
}

// question is what to ask where something else may listen.
var question = drivers.Question("an API server", false)

// dateOf is the clock of whoever answered.
func dateOf(resp *http.Response) int64 {
	t, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return t.UnixMicro()
}

// refused is an answer that is an error.
type refused struct {
	code    int
	message string
	after   time.Duration // to wait; with code 429
}

func (r *refused) Error() string { return r.message }

// codeOf is the status of an answer that is an error; 0: there is no answer.
func codeOf(err error) int {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.code
	}
	return 0
}

// reasons are what an API server says with some answers.
var reasons = map[int]string{http.StatusNotFound: "NotFound", http.StatusConflict: "Conflict AlreadyExists", http.StatusUnprocessableEntity: "Invalid"}

// foreign is the code of an answer that is no API server's, or about something else than what it was asked for.
const foreign = -1

// refusal reads an answer that is an error.
func (a *api) refusal(r request, resp *http.Response) *refused {
	var status struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Reason  string `json:"reason"`
	}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // what is missing is not said
	if json.Unmarshal(b, &status) != nil || status.Message == "" {
		status.Message = strings.TrimSpace(string(b[:min(len(b), 300)]))
	}
	out := &refused{code: resp.StatusCode, after: busyPause}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		out.after = time.Duration(n) * time.Second
	}
	what := "a request"
	if r.name != "" {
		what = "a request about Lease " + r.name
	}
	out.message = fmt.Sprintf("the API server refuses %s with status %d: %s", what, resp.StatusCode, status.Message)
	if status.Kind != "Status" {
		out.message += fmt.Sprintf("; the answer of %s has not the form of an API server's: %s", resp.Request.URL.Host, question)
	}
	reason, decides := reasons[resp.StatusCode]
	switch {
	case decides && (status.Kind != "Status" || status.Reason == "" || !strings.Contains(reason, status.Reason)):
		out.code = foreign
		out.message = fmt.Sprintf("status %d is the answer to %s, and it is not that of an API server which knows Leases; put the address right: %s", resp.StatusCode, what, status.Message)
	case resp.StatusCode == http.StatusForbidden && strings.Contains(status.Message, "cannot "+r.verb+" resource"):
		out.message = fmt.Sprintf("the right is missing to %s leases of coordination.k8s.io in the Kubernetes namespace %q: add the verb %q to the Role %q there, and bind that to the service account: %s",
			r.verb, a.in, r.verb, a.role, status.Message)
	case resp.StatusCode == http.StatusUnauthorized:
		out.message = fmt.Sprintf("the API server does not know who this is; the token of the service account may be over, or that of another cluster: %s", status.Message)
	}
	return out
}
