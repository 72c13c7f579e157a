package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/unalike-id/unalike/coord"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/server"
)

// direct sends a request to a handler without a network, and returns the status.
func direct(t *testing.T, h http.Handler, path string) int {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	return w.Code
}

// TestRights: who may do what, with and without a token.
func TestRights(t *testing.T) {
	tokens := withTokens(t)
	r := serve(t, func(c *server.Config) { tokens(c); c.Metrics = pageOf("metrics") })
	for path, want := range map[string][4]int{ // nobody, somebody, who generates, who operates
		"/healthz":                     {200, 200, 200, 200},
		"/readyz":                      {200, 200, 200, 200},
		"/v1/generators":               {401, 401, 200, 200},
		"/v1/generators/orders/ids":    {401, 401, 200, 200},
		"/v1/generators/none/ids":      {401, 401, 404, 404},
		"/v1/generators/orders/ids/1":  {401, 401, 200, 200},
		"/v1/generators/orders/layout": {401, 401, 200, 200},
		"/v1/sequences":                {401, 401, 200, 200},
		"/v1/sequences/a%2Fb/numbers":  {401, 401, 200, 200},
		"/api/snowflake/get/x":         {401, 401, 200, 200},
		"/api/segment/get/a%2Fb":       {401, 401, 200, 200},
		"/decodeSnowflakeId":           {401, 401, 400, 400},
		"/metrics":                     {401, 401, 403, 200},
		"/cache":                       {401, 401, 403, 200},
		"/db":                          {401, 401, 403, 200},
		"/":                            {401, 401, 403, 200},
		"/?id=1":                       {401, 401, 403, 200},
		"/?nothing=1":                  {401, 401, 403, 400},
		"/page/style.css":              {401, 401, 403, 200},
		"/nothing":                     {401, 401, 404, 404},
	} {
		for i, header := range []string{
			"X-Nothing: x", "Authorization: Bearer " + generates + "x", "Authorization: Bearer " + generates,
			"Authorization: bearer " + operates,
		} {
			if got := r.call("GET", path, header); got.StatusCode != want[i] {
				t.Errorf("%s with %q: %s, want %d", path, header, got.Status, want[i])
			}
		}
	}
	for _, header := range []string{"Bearer", "Bearer ", "Basic x", operates, "Digest " + operates} {
		header = "Authorization: " + header
		if got := r.call("GET", "/v1/generators", header); got.StatusCode != 401 ||
			len(got.Header.Values("WWW-Authenticate")) != 2 {
			t.Errorf("%q: %s %v", header, got.Status, got.Header)
		}
	}
	basic := base64.StdEncoding.EncodeToString([]byte("whoever:" + operates))
	if got := r.call("GET", "/cache", "Authorization: Basic "+basic); got.StatusCode != 200 {
		t.Errorf("HTTP Basic: %s", got.Status)
	}
	if got := r.call("GET", "/v1/generators",
		"Authorization: Bearer "+generates); strings.Contains(got.body, "health") {
		t.Errorf("health is shown to who may only generate: %s", got.body)
	}
	open := serve(t, func(c *server.Config) { tokens(c); c.Leaf.Anyone = true })
	for path, want := range map[string]int{
		"/api/snowflake/get/x": 200, "/api/segment/get/a%2Fb": 200, "/v1/generators": 401, "/cache": 401,
	} {
		if got := open.call("GET", path); got.StatusCode != want {
			t.Errorf("Leaf for anyone: %s: %s, want %d", path, got.Status, want)
		}
	}
}

func TestTokenFiles(t *testing.T) {
	path := tokenFile(t, generates)
	r := serve(t, func(c *server.Config) {
		c.Tokens = []server.TokenFile{{Path: path, Generate: true}}
	})
	with := func(token string) int {
		return r.call("GET", "/v1/generators", "Authorization: Bearer "+token).StatusCode
	}
	if changed, err := r.ReloadTokens(); changed || err != nil {
		t.Errorf("read again: %v, %v", changed, err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(operates)
	if changed, err := r.ReloadTokens(); !changed || err != nil || with(generates) != 401 ||
		with(operates) != 200 {
		t.Errorf("changed: %v, %v; the old one %d, the new one %d", changed, err, with(generates),
			with(operates))
	}
	for _, bad := range []string{
		"", "short", "two words of a token", "two-lines-of-tokens\ntwo-lines-of-tokens",
		strings.Repeat("x", 5000),
		"not-ascii-not-ascii-\xff",
	} {
		write(bad)
		if changed, err := r.ReloadTokens(); changed || err == nil ||
			!strings.Contains(err.Error(), path) ||
			bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%.20q: %v, %v", bad, changed, err)
		}
		if with(operates) != 200 {
			t.Errorf("%.20q: the old token is forgotten", bad)
		}
	}
	cfg := server.Config{Tokens: []server.TokenFile{{Path: path + "x", Generate: true}}}
	if s, err := server.New(cfg); err != nil || !errors.Is(s.Reload(), coord.ErrInvalid) {
		t.Errorf("a file that is missing: %v", err)
	}
	cfg.Tokens = []server.TokenFile{{Path: tokenFile(t, generates)}}
	if _, err := server.New(cfg); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("a file that gives no right: %v", err)
	}
}

// TestLargeBody: a body is refused by its size before it is read, and a small one because nothing
// reads it.
func TestLargeBody(t *testing.T) {
	r := serve(t, nil)
	says := map[int]string{
		200: "ids", 400: "a body is not read here",
		413: "the body has more than 65536 bytes",
	}
	for size, want := range map[int]int{0: 200, 1: 400, 64 << 10: 400, 64<<10 + 1: 413, 1 << 20: 413} {
		body := make([]byte, size)
		got := r.send("POST", r.http.URL+orders, bytes.NewReader(body))
		if got.StatusCode != want || !strings.Contains(got.body, says[want]) {
			t.Errorf("%d bytes: %s %s, want %d", size, got.Status, got.body, want)
		}
		unknown := io.MultiReader(bytes.NewReader(body)) // whose length is not said
		chunks := r.send("POST", r.http.URL+orders, unknown)
		if want = min(want, 400); chunks.StatusCode != want {
			t.Errorf("%d bytes in chunks: %s %s, want %d", size, chunks.Status, chunks.body, want)
		}
	}
}

// TestStrangers: a page of another site, and what a browser fetches before anybody asks, gets no
// IDs and no numbers.
func TestStrangers(t *testing.T) {
	r := serve(t, nil)
	for header, want := range map[string]int{
		"Sec-Fetch-Site: cross-site": 403, "Sec-Fetch-Site: same-site": 403, "Sec-Purpose: prefetch": 403,
		"Sec-Purpose: prefetch;prerender": 403, "Sec-Fetch-Site: same-origin": 200,
		"Sec-Fetch-Site: none": 200,
		"X-Nothing: x":         200,
	} {
		for _, path := range []string{
			orders + "?count=100", "/v1/sequences/a%2Fb/numbers?count=100", "/api/snowflake/get/x",
			"/api/segment/get/a%2Fb",
		} {
			for _, method := range []string{"GET", "POST"} {
				if got := r.call(method, path, header); got.StatusCode != want {
					t.Errorf("%s %s with %q: %s, want %d", method, path, header, got.Status, want)
				}
			}
		}
		if got := r.call("GET", "/v1/generators", header); got.StatusCode != 200 {
			t.Errorf("what issues nothing, with %q: %s", header, got.Status)
		}
		got := r.post("/unalike.v1.IDService/Generate", `{"generator":"orders"}`, header)
		if got.StatusCode != want {
			t.Errorf("RPC with %q: %s %s, want %d", header, got.Status, got.body, want)
		}
	}
	if got := r.call("POST", "/v1/generators/orders/ids",
		"Origin: http://evil.example"); got.StatusCode != 403 {
		t.Errorf("an old browser's POST: %s", got.Status)
	}
}

// TestMistyped: what is not known is refused with what is, and not left out.
func TestMistyped(t *testing.T) {
	r := serve(t, nil)
	for path, want := range map[string]string{
		orders + "?cuont=3":                      `\"cuont\" is not known; known are count, wait`,
		"/v1/sequences/a%2Fb/numbers?count=1&w=": `\"w\" is not known; known are count, wait`,
		"/v1/generators?x":                       `known are none`,
		"/v1/generators/orders/layout?x=1":       `known are none`,
		"/readyz?generatr=orders":                `known are generator, verbose`,
	} {
		if got := r.call("GET", path); got.StatusCode != 400 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %s %s", path, got.Status, got.body)
		}
	}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8"} {
		got := r.post("/unalike.v1.IDService/Generate", `{"genrator":"orders"}`, "Content-Type: "+kind)
		if got.StatusCode != 400 || !strings.Contains(got.body, "genrator") ||
			!strings.Contains(got.body, "known members are generator, count, maxWait") {
			t.Errorf("%s: %s %s", kind, got.Status, got.body)
		}
	}
}

// TestHostsEverywhere: a name that leads here is none of this machine's unless it was allowed, on a
// loopback address, and on one of the network where names are set; the address itself is right.
func TestHostsEverywhere(t *testing.T) {
	names := []string{"ids.example.com"}
	for _, tt := range []struct {
		local        string
		names        []string
		right, wrong string
	}{
		{
			"127.0.0.1", names, "localhost LOCALHOST:80 localhost. 127.0.0.1:80 127.1.2.3 [::1]:80 [::1] " +
				"ids.example.com:80",
			"evil.example.com evil.example.com:80 localhost.evil.example.com 10.0.0.1 127.0.0.1.nip.io " +
				"[2001:db8::1]",
		},
		{
			"10.0.0.5", names, "ids.example.com 10.0.0.5:80",
			"evil.example 10.0.0.6 127.0.0.1 localhost",
		},
		{"10.0.0.5", nil, "whoever.example", ""},
		{"127.0.0.1", nil, "localhost", "whoever.example"},
	} {
		s, err := server.New(server.Config{Hosts: tt.names})
		if err != nil {
			t.Fatal(err)
		}
		local := net.Addr(&net.TCPAddr{IP: net.ParseIP(tt.local), Port: 80})
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, local)
		ask := func(host string, want int, says string) {
			r := httptest.NewRequestWithContext(ctx, "GET", "/healthz", http.NoBody)
			r.Host = host
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != want || !strings.Contains(w.Body.String(), says) {
				t.Errorf("%s at %s, where %q are names: %d %s", host, tt.local, tt.names, w.Code, w.Body)
			}
		}
		for _, host := range strings.Fields(tt.right) {
			ask(host, http.StatusOK, "ok")
		}
		for _, host := range strings.Fields(tt.wrong) {
			ask(host, http.StatusMisdirectedRequest, "the Host header is not that of this machine")
		}
	}
}

// TestRate: the bearers of a token have as many IDs a second as it says, over HTTP and RPC
// together, and hear when there are more.
func TestRate(t *testing.T) {
	r := serve(t, func(c *server.Config) {
		c.Tokens = []server.TokenFile{
			{Path: tokenFile(t, generates), Generate: true, PerSecond: 10},
			{Path: tokenFile(t, operates), Generate: true},
		}
	})
	const bearer = "Authorization: Bearer " + generates
	got := r.call("GET", orders+"?count=11", bearer)
	if got.StatusCode != 429 ||
		!strings.Contains(got.body, "this token has 10 IDs a second; ask for at most as many") {
		t.Errorf("too many: %s %s", got.Status, got.body)
	}
	if got := r.call("GET", orders+"?count=10", bearer); got.StatusCode != 200 {
		t.Errorf("all of them: %s %s", got.Status, got.body)
	}
	got = r.call("GET", "/v1/sequences/a%2Fb/numbers?count=10", bearer)
	if got.StatusCode != 429 || got.Header.Get("Retry-After") != "1" {
		t.Errorf("%s %v %s", got.Status, got.Header, got.body)
	}
	req := &unalikev1.GenerateRequest{Generator: "orders", Count: 10}
	_, err := r.service(r.listen().URL, generates).Generate(t.Context(), req)
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("RPC: %v", err)
	}
	if got := r.call("GET", orders+"?count=10000",
		"Authorization: Bearer "+operates); got.StatusCode != 200 {
		t.Errorf("another token: %s", got.Status)
	}
	if changed, err := r.ReloadTokens(); changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if got := r.call("GET", orders+"?count=10", bearer); got.StatusCode != 429 {
		t.Errorf("after the files were read again: %s", got.Status)
	}
	bad := []server.TokenFile{{Path: tokenFile(t, generates), Generate: true, PerSecond: -1}}
	if _, err := server.New(server.Config{Tokens: bad}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("a rate of -1: %v", err)
	}
}
