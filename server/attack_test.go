package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/server"
)

// raw sends bytes that no client would send, and returns the head of the answer and its body.
func (r *rig) raw(request string) (head, body string) {
	r.t.Helper()
	answer, err := io.ReadAll(r.dial(r.http.Listener.Addr(), request))
	if err != nil {
		r.t.Fatalf("%.80q: %v", request, err)
	}
	head, body, _ = strings.Cut(string(answer), "\r\n\r\n")
	return head, body
}

// TestBadPaths: no way of writing a path leads past the check of tokens, and none ends in a page
// that is not meant.
func TestBadPaths(t *testing.T) {
	const page = "unalike_ready 1"
	tokens := withTokens(t)
	r := serve(t, func(c *server.Config) {
		tokens(c)
		c.Metrics = pageOf(page)
	})
	for _, path := range []string{
		"/metrics", "//metrics", "/./metrics", "/healthz/../metrics", "/healthz/..%2fmetrics",
		"/%6detrics",
		"/metrics/", "/METRICS", "/metrics%00", "/metrics;x", "/metrics?x", "/healthz/%2e%2e/metrics",
		"/v1/generators/../../metrics", "/v1//generators", "/v1/generators/%2e%2e",
		"/v1/generators/orders%2fids",
		"/v1/generators/orders/ids/../../../../db", "http://localhost/metrics", "http://evil/cache",
		"/" + strings.Repeat("a/", 2000), "/\\metrics", "/%", "*", "metrics",
	} {
		head, body := r.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		status := strings.Fields(head + " - -")[1]
		switch status {
		case "400", "401", "421":
		case "301", "307", "308": // to the same host
			if _, to, _ := strings.Cut(head, "Location: "); !strings.HasPrefix(to, "/") ||
				strings.HasPrefix(to, "//") {
				t.Errorf("%.60q leads away: %s", path, head)
			}
		default:
			t.Errorf("%.60q: %s", path, head)
		}
		if strings.Contains(body, page) || strings.Contains(body, "orders") {
			t.Errorf("%.60q: %s", path, body)
		}
	}
}

// TestEndlessBody: a body whose length is not said is not read to its end.
func TestEndlessBody(t *testing.T) {
	r := serve(t, nil)
	conn := r.dial(r.http.Listener.Addr(),
		"POST "+orders+" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
	chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", 64<<10, make([]byte, 64<<10))
	for sent := 0; ; sent += len(chunk) {
		if _, err := conn.Write(chunk); err != nil {
			break // the connection is closed
		}
		if sent > 64<<20 {
			t.Fatalf("%d bytes were taken", sent)
		}
	}
}

// TestBoundedWait: a request for more IDs than its layout has in a long time ends.
func TestBoundedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout := core.Layout{
			Epoch: time.Now().Add(-time.Hour).UTC(), Unit: time.Second, TimeBits: 30, WorkerBits: 10,
			SequenceBits: 1,
		}
		client := coordtest.NewFake(coordtest.FakeConfig{}).Client()
		g, err := core.New(t.Context(), client,
			core.Config{Layout: layout, Clock: clocktest.NewManual(time.Now())})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		s, err := server.New(server.Config{Generators: map[string]*core.Generator{"slow": g}})
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"?count=1000", "?count=1000&wait=20s"} {
			begun := time.Now()
			status := direct(t, s, "/v1/generators/slow/ids"+query)
			if took := time.Since(begun); status != 503 || took != 31*time.Second {
				t.Errorf("%q: %d after %v", query, status, took)
			}
		}
	})
}

// lazyWriter fails, and looks at what it was given afterwards: as HTTP/2 does with a stream that
// was reset while its data waited to be sent.
type lazyWriter struct {
	http.ResponseWriter
	given []byte
}

// Write implements io.Writer.
func (w *lazyWriter) Write(b []byte) (int, error) { w.given = b; return 0, io.ErrClosedPipe }

// TestFailedWrite: the memory of an answer that could not be sent is not used for another one.
func TestFailedWrite(t *testing.T) {
	r := serve(t, nil)
	for _, path := range []string{orders + "?count=100", "/v1/sequences/a%2Fb/numbers?count=100"} {
		for range 20 {
			w := &lazyWriter{ResponseWriter: httptest.NewRecorder()}
			r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			before := bytes.Clone(w.given)
			r.ServeHTTP(httptest.NewRecorder(),
				httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			if len(before) == 0 || !bytes.Equal(w.given, before) {
				t.Fatalf("%s: %.60s has become %.60s", path, before, w.given)
			}
		}
	}
}

// TestServer_RefusesBeforeTheBody: a refusal does not wait for a body that does not come, and the
// connection is closed soon.
func TestServer_RefusesBeforeTheBody(t *testing.T) {
	t.Parallel()
	r := serve(t, withTokens(t))
	for _, path := range []string{orders, "/unalike.v1.IDService/Generate"} {
		head, _ := r.raw("POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
			"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.1 401 ") || !strings.Contains(head, "\r\nConnection: close") {
			t.Errorf("%s: %s", path, head)
		}
	}
}

// TestServer_RefusesCompressedRequests: a small request that would unfold to a large one is
// refused.
func TestServer_RefusesCompressedRequests(t *testing.T) {
	t.Parallel()
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	if _, err := w.Write(fmt.Appendf(nil, `{"service": "%050000d"}`, 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := serve(t, nil)
	for _, path := range []string{"/grpc.health.v1.Health/Check", "/unalike.v1.IDService/Generate"} {
		got := r.post(path, small.String(), "Content-Encoding: gzip")
		if got.StatusCode != http.StatusNotImplemented || !strings.Contains(got.body, "unimplemented") {
			t.Errorf("%s: %s %s", path, got.Status, got.body)
		}
	}
}

// TestServer_BadTag: a tag that no store can have is the caller's mistake.
func TestServer_BadTag(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for _, path := range []string{"/v1/sequences/%20a/numbers", "/v1/sequences/a%00/texts"} {
		if got := r.call("GET", path); got.StatusCode != http.StatusBadRequest ||
			!strings.Contains(got.body, "a tag is 1 to 128 characters") {
			t.Errorf("%s: %s %s", path, got.Status, got.body)
		}
	}
}
