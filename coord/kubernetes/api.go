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
	own    bool   // the client is nobody else's
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
	// longest is how long a call may take, also if its context has no end: far longer than it takes
	// to list all that a namespace can have.
	longest = 20 * time.Second
	// reads is how often a request that changes nothing is made if none is answered, and hasty how
	// long all of them but the last may take: they may go to the one of several servers that hangs.
	reads, hasty = 3, 3 * time.Second
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

// call makes a request and decodes the answer. It returns the API server's clock, in microseconds
// since 1970, rounded down to seconds; 0: it did not tell.
func (a *api) call(ctx context.Context, r request, out answer) (date int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for n := 1; ; n++ {
		limit := longest
		if r.method == http.MethodGet && n < reads {
			limit = hasty
		}
		if date, err = a.attempt(ctx, r, limit, out); err == nil || !a.again(ctx, r, n, err) {
			return date, err
		}
	}
}

// again reports whether to make a request again that has failed for the n-th time, after a pause. A
// server that is busy has done nothing. What changes nothing is asked again if there is no answer,
// or one of a server that cannot do anything: another connection may lead to another server.
func (a *api) again(ctx context.Context, r request, n int, err error) bool {
	no, ok := errors.AsType[*refused](err)
	switch {
	case !ok || no.code >= http.StatusInternalServerError:
		a.dropIdle()
		return r.method == http.MethodGet && n < reads && lifetime.Pause(ctx, n) == nil
	case no.code == http.StatusTooManyRequests:
		return wait(ctx, no.after)
	case no.code == http.StatusUnauthorized && a.token != nil:
		a.token.refused()
		return n == 1
	}
	return false
}

// dropIdle ends the connections that nobody uses.
func (a *api) dropIdle() {
	if a.own {
		a.client.CloseIdleConnections()
	}
}

// wait waits, and reports whether there was time for it.
func wait(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && lifetime.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt makes a request once.
func (a *api) attempt(
	outer context.Context, r request, limit time.Duration, out answer,
) (int64, error) {
	ctx, cancel := context.WithTimeout(outer, limit)
	defer cancel()
	resp, err := a.send(ctx, r)
	if err != nil {
		if ctx.Err() != nil && outer.Err() == nil {
			err = fmt.Errorf("%w (for %v)", err, limit)
		}
		return 0, err
	}
	defer drop(resp)
	date := int64(0)
	if t, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		date = t.UnixMicro()
	}
	if err = json.NewDecoder(io.LimitReader(resp.Body, largest)).Decode(out); err == nil {
		err = out.check(r)
	}
	if err != nil {
		err = fmt.Errorf("the answer of the API server at %s is not understood: %w",
			resp.Request.URL.Host, err)
	}
	return date, err
}

// drop ends an answer, so that its connection can be used again.
func drop(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<16)
	_ = resp.Body.Close()
}

// send sends a request, and returns what comes first of the answer. One that is an error is
// returned as [refused].
func (a *api) send(ctx context.Context, r request) (*http.Response, error) {
	at := a.leases
	if r.name != "" {
		at += "/" + r.name
	}
	if len(r.query) > 0 {
		at += "?" + r.query.Encode()
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
		value, err := a.token.get()
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
		return nil, unreached(req.URL.Host, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer drop(resp)
		return nil, a.refusal(r, resp)
	}
	return resp, nil
}

// unreached is the error of a request without an answer.
func unreached(host string, err error) error {
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	for _, says := range []string{"HTTP response to HTTPS client", "malformed HTTP"} {
		noTLS = noTLS || strings.Contains(err.Error(), says)
	}
	switch {
	case noTLS:
		return fmt.Errorf("the server at %s is no API server of Kubernetes: %s: %w", host, question, err)
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return fmt.Errorf("there is no answer from the API server at %s: %w", host, err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the server at %s ends connections without an answer: %s: %w",
			host, question, err)
	}
	return fmt.Errorf("the API server at %s cannot be reached: %w", host, err)
}

// question is what to ask where something else may listen.
var question = drivers.Question("an API server", false)

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
var reasons = map[int]string{
	http.StatusNotFound: "NotFound", http.StatusConflict: "Conflict AlreadyExists",
	http.StatusUnprocessableEntity: "Invalid",
}

// foreign is the code of an answer that is no API server's, or about something else than what it
// was asked for.
const foreign = -1

// refusal reads an answer that is an error.
func (a *api) refusal(r request, resp *http.Response) *refused {
	var status struct{ Kind, Message, Reason string }
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
	out.message = fmt.Sprintf("the API server refuses %s with status %d: %s",
		what, resp.StatusCode, status.Message)
	if status.Kind != "Status" {
		out.message += fmt.Sprintf("; the answer of %s has not the form of an API server's: %s",
			resp.Request.URL.Host, question)
	}
	reason, decides := reasons[resp.StatusCode]
	known := status.Kind == "Status" && status.Reason != "" && strings.Contains(reason, status.Reason)
	switch {
	case decides && !known:
		out.code = foreign
		out.message = fmt.Sprintf("status %d is the answer to %s, and it is not that of an API server "+
			"which knows Leases; put the address right: %s", resp.StatusCode, what, status.Message)
	case out.code == http.StatusForbidden &&
		strings.Contains(status.Message, "cannot "+r.verb+" resource"):
		out.message = fmt.Sprintf("the right is missing to %s leases of coordination.k8s.io in the "+
			"Kubernetes namespace %q: add the verb %q to the Role %q there, and bind that to the "+
			"service account: %s", r.verb, a.in, r.verb, a.role, status.Message)
	case out.code == http.StatusUnauthorized:
		out.message = fmt.Sprintf("the API server does not know who this is; the token of the service "+
			"account may be over, or that of another cluster: %s", status.Message)
	}
	return out
}
