package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/wrongserver"
)

// api makes requests about the Lease objects of one Kubernetes namespace.
type api struct {
	client *http.Client
	own    bool   // the client is nobody else's
	token  string // the file with that of the service account; empty: the client adds it
	leases string // the address of the collection
	in     string // the Kubernetes namespace
	role   string // that errors name

	protocol.ServerClock // the API server's
}

const (
	// largest is how long an answer may be.
	largest = 256 << 20
	// longest is how long a call may take, also if its context has no end: far longer than it takes
	// to list all that a namespace can have.
	longest = 20 * time.Second
)

// request is one request.
type request struct {
	verb  string // as a Role calls it
	name  string // of the object; empty: all
	query url.Values
	body  []byte
}

// writes are what HTTP calls the requests that have a body, and the types of those.
var writes = map[string]struct{ method, content string }{
	"create": {http.MethodPost, "application/json"},
	"patch":  {http.MethodPatch, "application/json-patch+json"},
}

// answer is what the API server sends.
type answer interface{ check(r request) error }

// call makes a request and decodes the answer. It returns what the API server's clock can have
// said.
// An API server that is busy has done nothing, and is asked again while there is time.
func (a *api) call(ctx context.Context, r request, out answer) (server protocol.Span, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		server, err = a.attempt(ctx, r, out)
		if code := codeOf(err); err != nil && (code == 0 || code >= http.StatusInternalServerError) {
			a.dropIdle() // another connection may lead to another server
		}
		if codeOf(err) != http.StatusTooManyRequests || !lifetime.Sleep(ctx, pause) {
			return server, err
		}
	}
}

// dropIdle ends the connections that nobody uses. A client that was passed to [New] keeps its own.
func (a *api) dropIdle() {
	if a.own {
		a.client.CloseIdleConnections()
	}
}

// Close implements [io.Closer] for the coordinator.
func (a *api) Close() error {
	a.dropIdle()
	return nil
}

// pause is how long it takes until an API server is asked again that is busy, or has ended a watch.
const pause = time.Second

// attempt makes a request once. The API server's clock is the header Date, rounded down to a
// second.
func (a *api) attempt(
	ctx context.Context, r request, out answer,
) (server protocol.Span, err error) {
	sent := lifetime.Now()
	resp, err := a.send(ctx, r)
	if err != nil {
		return server, err
	}
	defer drop(resp)
	if err = json.NewDecoder(io.LimitReader(resp.Body, largest)).Decode(out); err == nil {
		err = out.check(r)
	}
	host := resp.Request.URL.Host
	if _, noJSON := errors.AsType[*json.SyntaxError](err); noJSON || errors.Is(err, errKind) {
		return server, fmt.Errorf("%w: %w", anotherServer(host), err)
	}
	if err != nil {
		err = fmt.Errorf("the answer of the API server at %s is not understood: %w", host, err)
		return server, err
	}
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return server, errors.New("the answer of the API server does not tell the time: " +
			"whatever is between must leave its header Date as it is")
	}
	server = protocol.Span{Low: date.UnixMicro(), High: date.Add(time.Second).UnixMicro()}
	a.Note(server, sent)
	return server, nil
}

// errKind says that an answer is about something else.
var errKind = errors.New("it is another kind of answer")

// anotherServer is the error of an answer that no API server gives.
func anotherServer(host string) error {
	return invalid.Errorf("%s",
		wrongserver.Says(wrongserver.Kubernetes, "an HTTP server", host))
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
	if r.name != "" && r.verb != "create" {
		at += "/" + r.name
	}
	at += "?" + r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, writes[r.verb].method, at, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "unalike")
	if r.body != nil {
		req.Header.Set("Content-Type", writes[r.verb].content)
	}
	if a.token != "" {
		value, err := readToken(a.token)
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
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch {
	case errors.Is(err, errRedirects):
		return fmt.Errorf("%w: %w", anotherServer(host), err)
	case says("HTTP response to HTTPS client"), says("a TLS handshake"), says("malformed HTTP"):
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
	final   error // why trying again cannot help; nil: it may
}

func (r *refused) Error() string { return r.message }
func (r *refused) Unwrap() error { return r.final }

// codeOf is the status of an answer that is an error; 0: there is no answer.
func codeOf(err error) int {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.code
	}
	return 0
}

// foreign is the code of an answer that would decide something, and is no API server's.
const foreign = -1

// refusal reads an answer that is an error.
func (a *api) refusal(r request, resp *http.Response) *refused {
	var status struct{ Kind, Message string }
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // what is missing is not said
	if json.Unmarshal(b, &status) != nil || status.Message == "" {
		status.Message = strings.TrimSpace(string(b[:min(len(b), 300)]))
	}
	out := &refused{code: resp.StatusCode, message: fmt.Sprintf(
		"the API server refuses to %s Lease %s with status %d: %s",
		r.verb, cmp.Or(r.name, "objects"), resp.StatusCode, status.Message)}
	switch {
	case out.code == http.StatusUnauthorized:
		out.message = fmt.Sprintf("the API server does not know who this is; the token of the service "+
			"account may be over, or that of another cluster: %s", status.Message)
	case out.code == http.StatusForbidden &&
		strings.Contains(status.Message, "cannot "+r.verb+" resource"):
		out.message = fmt.Sprintf("the right is missing to %s leases of coordination.k8s.io in the "+
			"Kubernetes namespace %q: add the verb %q to the Role %q there, and bind that to the "+
			"service account: %s", r.verb, a.in, r.verb, a.role, status.Message)
	case status.Kind != "Status":
		host := resp.Request.URL.Host
		out.message += fmt.Sprintf("; it is not that of an API server which knows Leases; put the "+
			"address right: %s, %s", host, question)
		if out.code < http.StatusBadRequest || slices.Contains(unknowing, out.code) {
			out.final = anotherServer(host)
			out.message = fmt.Sprintf("%v: it answers with status %d: %s", out.final, out.code,
				status.Message)
		}
		if decides(out.code) {
			out.code = foreign
		}
	}
	return out
}

// unknowing are the statuses of a server that does not know the request. A load balancer without a
// server behind it answers with others, such as 503.
var unknowing = []int{
	http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusNotImplemented, http.StatusHTTPVersionNotSupported,
}

// decides reports whether a status says that a Lease is not there, or is another one than was
// thought.
func decides(code int) bool {
	return code == http.StatusNotFound || code == http.StatusConflict ||
		code == http.StatusUnprocessableEntity
}
