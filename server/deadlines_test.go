package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/server"
)

// rawHTTP2 is a connection that speaks HTTP/2 frame by frame.
type rawHTTP2 struct {
	net.Conn
	*http2.Framer
	head bytes.Buffer
	next uint32 // stream
}

// dialHTTP2 connects, and lets the server send nothing but headers.
func (r *rig) dialHTTP2() *rawHTTP2 {
	r.t.Helper()
	conn := r.dial(r.listen().Listener.Addr(), http2.ClientPreface)
	c := &rawHTTP2{Conn: conn, Framer: http2.NewFramer(conn, conn), next: 1}
	if err := c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize}); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// get asks for a page.
func (c *rawHTTP2) get(t *testing.T, path string) {
	t.Helper()
	c.head.Reset()
	e := hpack.NewEncoder(&c.head)
	for _, f := range [][2]string{
		{":method", "GET"}, {":scheme", "http"}, {":authority", "localhost"}, {":path", path},
	} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	if err := c.WriteHeaders(http2.HeadersFrameParam{
		StreamID: c.next, BlockFragment: c.head.Bytes(), EndStream: true, EndHeaders: true,
	}); err != nil {
		t.Fatal(err)
	}
	c.next += 2
}

// statuses reads n answers, without their bodies.
func (c *rawHTTP2) statuses(t *testing.T, n int) map[string]int {
	t.Helper()
	all, d := map[string]int{}, hpack.NewDecoder(4096, nil)
	for seen := 0; seen < n; {
		f, err := c.ReadFrame()
		if err != nil {
			t.Fatalf("after %v: %v", all, err)
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = c.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			fields, err := d.DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				t.Fatal(err)
			}
			all[fields[0].Value]++
			seen++
		}
	}
	return all
}

// TestPinned: callers who read nothing hold so much memory and no more. Others are told to come
// again, and those who ask for few are answered; with the connection the memory is free again.
func TestPinned(t *testing.T) {
	meter := new(tally)
	r := serve(t, func(c *server.Config) { c.MaxReplyBytes, c.Meter = 1<<20, meter })
	c := r.dialHTTP2()
	for range 50 {
		c.get(t, orders+"?count=10000")
	}
	const most = (1 << 20) / (10_000*8 + 32<<10)
	got := c.statuses(t, 50)
	if got["200"] != most || got["503"] != 50-most {
		t.Errorf("%v, want %d of 200", got, most)
	}
	if n := r.ReplyBytes(); n > 1<<20 || n < 1<<19 {
		t.Errorf("%d bytes are in use", n)
	}
	if n := meter.refused("reply_bytes"); n != 50-most ||
		strings.Count(r.log.String(), "requests are refused") != 1 {
		t.Errorf("%d refusals are counted, and the log has\n%s", n, r.log)
	}
	if got := r.call("GET", orders+"?count=10000"); got.StatusCode != 503 ||
		got.Header.Get("Retry-After") != "1" {
		t.Errorf("many more: %s %v", got.Status, got.Header)
	}
	if got := r.call("GET", orders); got.StatusCode != 200 {
		t.Errorf("one: %s", got.Status)
	}
	_ = c.Close()
	r.eventually("the memory is free again", func() bool { return r.ReplyBytes() == 0 })
	if got := r.call("GET", orders+"?count=10000"); got.StatusCode != 200 {
		t.Errorf("afterwards: %s", got.Status)
	}
}

// TestUnread: a caller who does not read a large reply is cut off, sooner than a server would.
func TestUnread(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	c := r.dialHTTP2()
	begun := time.Now()
	c.get(t, orders+"?count=10000")
	for {
		f, err := c.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if _, reset := f.(*http2.RSTStreamFrame); reset {
			break
		}
	}
	if took := time.Since(begun); took > 2*server.PieceTime {
		t.Errorf("it took %v", took)
	}
	r.eventually("the memory is free again", func() bool { return r.ReplyBytes() == 0 })
}

// TestPieces: a reply that is sent in pieces is whole, and the connection goes on.
func TestPieces(t *testing.T) {
	r := serve(t, func(c *server.Config) { c.MaxCount = server.MostCount })
	for _, count := range []int{256, 257, 5000, 100_000} {
		path := fmt.Sprintf("%s?count=%d", orders, count)
		if got := numbersIn(t, r.call("GET", path), "ids"); len(got) != count {
			t.Errorf("%d: %d IDs", count, len(got))
		}
		plain := r.call("GET", path, "Accept: text/plain")
		if got := rising(t, strings.Fields(plain.body)); len(got) != count {
			t.Errorf("%d as text: %d IDs", count, len(got))
		}
	}
	if got := r.ReplyBytes(); got != 0 {
		t.Errorf("%d bytes are in use", got)
	}
}

// tally is a meter that remembers.
type tally struct {
	mu   sync.Mutex
	seen []string
}

func (m *tally) Request(handler, method string, status int, _ time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, fmt.Sprintf("%s %s %d", method, handler, status))
}

func (m *tally) Refused(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, reason)
}

func (m *tally) WorkerIDs(string, map[string]int)        {}
func (m *tally) Gauge(_, _ string, _ func() int64) error { return nil }
func (m *tally) Store(func() error)                      {}

func (m *tally) refused(reason string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.seen {
		if s == reason {
			n++
		}
	}
	return n
}

// TestReadyzNames: the page names what is not ready and why, all of it or one generator if asked;
// with "any" one is enough.
func TestReadyzNames(t *testing.T) {
	notOpen := startLate(t, coordtest.NewFake(coordtest.FakeConfig{}), coordtest.ErrUnreachable)
	const why = "generator late: core: generator not started yet"
	for _, either := range []bool{false, true} {
		tokens := withTokens(t)
		r := serve(t, func(c *server.Config) {
			tokens(c)
			c.Generators["late"], c.AnyReady = notOpen, either
		})
		status, short := 503, why
		if either {
			status, short = 200, "ready"
		}
		for _, tt := range []struct {
			path   string
			status int
			body   string
		}{
			{"/readyz", status, short},
			{
				"/readyz?verbose", status,
				"generator default: ready\n" + why + "\ngenerator orders: ready\nstore: ready",
			},
			{"/readyz?generator=orders", 200, "ready"},
			{"/readyz?generator=late", 503, why},
			{"/livez", 200, "ok"},
			{"/healthz", 200, "ok"},
		} {
			if got := r.call("GET", tt.path); got.StatusCode != tt.status || got.body != tt.body+"\n" {
				t.Errorf("any: %v: %s: %s %q, want %d %q", either, tt.path, got.Status, got.body, tt.status,
					tt.body)
			}
		}
		if got := r.call("GET", "/readyz?generator=nothing"); got.StatusCode != 404 ||
			!strings.Contains(got.body, "known are") {
			t.Errorf("no generator: %s %s", got.Status, got.body)
		}
		if got := r.call("GET", "/readyz?generator=late",
			"Authorization: Bearer "+operates); !strings.Contains(got.body, "back end unreachable") {
			t.Errorf("who may operate reads %s", got.body)
		}
		if err := r.Ready(); (err == nil) != either || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%v", err)
		}
	}
}

// TestMeter: every request is counted with its route and status, over HTTP and RPC, and so are
// refusals.
func TestMeter(t *testing.T) {
	meter, tokens := new(tally), withTokens(t)
	r := serve(t, func(c *server.Config) { tokens(c); c.Meter = meter })
	const bearer = "Authorization: Bearer " + generates
	r.call("GET", orders, bearer)
	r.call("GET", "/v1/generators/none/ids", bearer)
	r.call("DELETE", orders, bearer)
	r.call("GET", orders)
	r.call("GET", "/cache", bearer)
	r.call("GET", "/healthz", "Host: evil.example")
	r.call("GET", "/nothing/at/all", bearer)
	c := r.service(r.listen().URL, generates)
	_, _ = c.Generate(t.Context(), generateOne("orders"))
	_, _ = c.Generate(t.Context(), generateOne("none"))
	want := []string{
		"GET /v1/generators/{generator}/ids 200", "GET /v1/generators/{generator}/ids 404",
		"DELETE /v1/generators/{generator}/ids 405",
		"unauthorized", "GET /v1/generators/{generator}/ids 401", "forbidden", "GET /cache 403", "host",
		"GET /healthz 421", "GET / 404",
		"POST /unalike.v1.IDService/Generate 200", "POST /unalike.v1.IDService/Generate 404",
	}
	r.eventually("all are answered", func() bool { return r.InFlight() == 0 })
	meter.mu.Lock()
	defer meter.mu.Unlock()
	if got := strings.Join(meter.seen, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestAccessLog: what is wanted is logged, with the ID that the request came with or one that is
// made, and without a token.
func TestAccessLog(t *testing.T) {
	for mode, want := range map[string]int{
		"": 0, server.AccessOff: 0,
		server.AccessErrors: 1, server.AccessAll: 2,
	} {
		var log proctest.Output
		tokens := withTokens(t)
		r := serve(t, func(c *server.Config) {
			tokens(c)
			c.AccessLog, c.Logger = mode, slog.New(slog.NewTextHandler(&log, nil))
		})
		good := r.call("GET", orders+"?count=2", "Authorization: Bearer "+generates,
			"X-Request-Id: ours-1")
		bad := r.call("GET", orders+"?count="+operates, "Authorization: Bearer "+generates,
			`X-Request-Id: a "b"`)
		if good.Header.Get("X-Request-Id") != "ours-1" {
			t.Errorf("%q: the ID is not sent back: %v", mode, good.Header)
		}
		made := bad.Header.Get("X-Request-Id")
		if (made != "") != (want > 0) || strings.Contains(made, `"`) {
			t.Errorf("%q: %q in place of an ID that cannot be used", mode, made)
		}
		r.eventually("all are answered", func() bool { return r.InFlight() == 0 })
		r.Drain()
		text := log.String()
		if n := strings.Count(text, "msg=request "); n != want || strings.Contains(text, operates) ||
			strings.Contains(text, generates) || want > 0 && !strings.Contains(text, "request_id="+made) {
			t.Errorf("%q: %d lines, want %d:\n%s", mode, n, want, text)
		}
	}
}

// TestAdmin: the pages of operators are on their own address where there is one, and issue nothing.
func TestAdmin(t *testing.T) {
	tokens := withTokens(t)
	r := serve(t, func(c *server.Config) {
		tokens(c)
		c.AdminApart, c.Metrics = true, pageOf("metrics")
	})
	admin := httptest.NewServer(r.Admin())
	t.Cleanup(admin.Close)
	// here without a token, here for an operator, there for one
	for path, want := range map[string][3]int{
		"/livez": {200, 200, 200}, "/readyz": {200, 200, 200}, "/healthz": {200, 200, 200},
		"/metrics":      {401, 200, 404},
		"/debug/pprof/": {401, 200, 404}, "/debug/pprof/cmdline": {401, 200, 404},
		"/debug/pprof/heap": {401, 200, 404},
		orders:              {401, 404, 200}, "/": {401, 200, 404}, "/page/script.js": {401, 200, 200},
		"/cache": {401, 404, 200},
	} {
		there := r.call("GET", path, "Authorization: Bearer "+operates).StatusCode
		var here [2]int
		for i, token := range []string{"", operates} {
			here[i] = r.send("GET", admin.URL+path, http.NoBody, "Authorization: Bearer "+token).StatusCode
		}
		if got := [3]int{here[0], here[1], there}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
