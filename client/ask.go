package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/unalike-id/unalike/core"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

const (
	// procedure is called as Connect has it: a message in, a message out, errors in JSON.
	procedure   = "/unalike.v1.IDService/Generate"
	contentType = "application/proto"

	maxReply = 32 << 20 // more than a million IDs, each in a run of its own
	maxError = 512
	// confirmTime is for how long all servers must have said that they are of another namespace than
	// before: longer than it takes until a request meets each of several servers behind one address.
	confirmTime = 30 * time.Second
	// forgetTime is how long a server counts that has not answered since. One that was taken away for
	// good has no say in what the namespace is.
	forgetTime = 10 * time.Minute
)

// ask asks one server. One that does not allow as many IDs as that is asked for fewer from then on,
// and one that does not answer soon until it does: twice as many may take it twice as long, and
// longer than a request may.
func (c *Client) ask(e *endpoint) (*batch, error) {
	count := c.count
	if !e.quick {
		count = min(count, c.o.Prefetch)
	}
	if e.most > 0 {
		count = min(count, e.most)
	}
	b, err := c.askFor(e, count)
	for most := count / 2; most >= firstPrefetch; most /= 2 {
		if _, bad := errors.AsType[badRequest](err); !bad {
			break
		}
		if b, err = c.askFor(e, most); err == nil { // otherwise it is not the count that is bad
			e.most = most
		}
	}
	return b, err
}

// askFor asks one server for count IDs. What it has issued is lost unless the reply comes whole,
// and is of the namespace of the other replies.
func (c *Client) askFor(e *endpoint, count int) (*batch, error) {
	ctx, cancel := context.WithTimeout(c.life, requestTime)
	defer cancel()
	//nolint:forbidigo // how long a server takes is no matter of IDs
	asked, wall := time.Now(), c.clock.UnixMicro()
	body, err := c.call(ctx, e.url, count)
	e.quick = err == nil && time.Since(asked) <= quickTime //nolint:forbidigo // the same
	if err != nil {
		return nil, err
	}
	if took := c.clock.UnixMicro() - wall; took > requestTime.Microseconds() {
		return nil, fmt.Errorf("the reply came after %v by the clock on the wall, and its IDs "+
			"are too old", time.Duration(took)*time.Microsecond)
	}
	var resp unalikev1.GenerateResponse
	if err := proto.Unmarshal(body, &resp); err != nil || resp.Layout == "" {
		return nil, fmt.Errorf("%w: the reply is not that of a server of unalike", ErrRefused)
	}
	if err := c.compare(e, resp.Layout+" "+resp.NamespaceNonce); err != nil {
		return nil, err
	}
	b, total := newBatch(count, len(resp.Runs)), uint64(0)
	for _, r := range resp.Runs {
		total += uint64(r.Count)
		if r.Count == 0 || r.First > math.MaxInt64 || uint64(r.Count)-1 > math.MaxInt64-r.First {
			return nil, fmt.Errorf("%w: the reply has a run of %d from %d, and IDs have 63 bits", ErrRefused,
				r.Count, r.First)
		}
		b.add(core.ID(r.First), int64(r.Count))
	}
	if total != uint64(count) { //mutant:client-cut
		return nil, fmt.Errorf("%w: the reply has %d IDs in place of %d", ErrRefused, total, count)
	}
	return b, nil
}

// compare makes sure that a reply is of the namespace of the others. A namespace that was lost and
// made again is another one: then all servers say so, and go on doing it.
func (c *Client) compare(e *endpoint, space string) error {
	now := time.Now() //nolint:forbidigo // how long servers have agreed is no matter of IDs
	e.said, e.heard = space, now
	switch {
	case c.space == "" || c.space == space: //mutant:client-mixed
		c.space, c.doubt = space, time.Time{}
		return nil
	case c.doubt.IsZero():
		c.doubt = now
	}
	other := slices.IndexFunc(c.servers, func(o *endpoint) bool {
		return o.said != "" && o.said != space && now.Sub(o.heard) < forgetTime //mutant:client-forgets
	})
	if other < 0 && now.Sub(c.doubt) >= confirmTime {
		c.space, c.doubt = space, time.Time{}
		return nil
	}
	where := "replies before"
	if other >= 0 {
		where = c.servers[other].host
	}
	return fmt.Errorf("%w: %q, and %s had %q; name servers of one namespace", ErrMixed, space, where,
		c.space)
}

// call makes a request and returns the body of the reply.
func (c *Client) call(ctx context.Context, url string, count int) ([]byte, error) {
	msg, err := proto.Marshal(&unalikev1.GenerateRequest{
		Generator: c.o.Generator,
		Count:     uint32(count),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: Generator: %w", ErrRefused, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(msg))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Connect-Protocol-Version", "1")
	token, err := c.o.token()
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Type") == contentType:
		return body, nil
	case resp.StatusCode == http.StatusOK:
		return nil, fmt.Errorf("%w: the reply is %.80q in place of %s; is this a server of unalike?",
			ErrRefused, resp.Header.Get("Content-Type"), contentType)
	case resp.StatusCode/100 == 3:
		return nil, fmt.Errorf("%w: %s: it redirects to %.200q, which is not followed, so that no token "+
			"goes where it is not meant to; name the server itself", ErrRefused, resp.Status, target(resp))
	case resp.StatusCode == http.StatusBadRequest:
		return nil, badRequest{fmt.Errorf("%w: %s: %s", ErrRefused, resp.Status, reason(body))}
	case passes(resp.StatusCode):
		err := fmt.Errorf("%s: %s", resp.Status, reason(body))
		if n, bad := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); bad == nil {
			err = later{err, time.Duration(n) * time.Second}
		}
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s: %s", ErrRefused, resp.Status, reason(body))
}

// later is an error of a server that has said when to ask it again.
type later struct {
	error
	wait time.Duration
}

// Unwrap returns the error that it is.
func (e later) Unwrap() error { return e.error }

// target returns the host that a reply redirects to; empty: it names none.
func target(resp *http.Response) string {
	to, err := resp.Location()
	if err != nil {
		return ""
	}
	return to.Host
}

// badRequest is what a server says that allows no such request, as for so many IDs.
type badRequest struct{ error }

// Unwrap returns the error that it is.
func (e badRequest) Unwrap() error { return e.error }

// passes reports whether a status may be another one soon. 499 is what Connect makes of a call that
// was cut off.
func passes(status int) bool {
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented ||
		status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status == 499
}

// reason returns what an error in JSON says, or the text that came in its place.
func reason(body []byte) string {
	var e struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &e); err == nil && e.Message != "" {
		return e.Message
	}
	return string(body[:min(len(body), maxError)])
}
