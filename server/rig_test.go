package server_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
	"github.com/unalike-id/unalike/server"
)

// Tokens of the tests.
const (
	generates = "generates-0123456789"
	operates  = "operates-0123456789"
)

// orders is where the generator of that name gives its IDs.
const orders = "/v1/generators/orders/ids"

// pageOf is a page with a text.
func pageOf(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, text)
	})
}

// rig is a server under test.
type rig struct {
	*server.Server
	t    *testing.T
	http *httptest.Server
	fake *coordtest.Fake
	log  *strings.Builder
}

// generator returns a generator with a layout.
func generator(t *testing.T, f *coordtest.Fake, l core.Layout) *core.Generator {
	t.Helper()
	return generatorOn(t, f.Client(), l)
}

// generatorOn returns a generator with a coordinator.
func generatorOn(t *testing.T, c coord.Coordinator, l core.Layout) *core.Generator {
	t.Helper()
	g, err := core.New(t.Context(), c, core.Config{Layout: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// serve returns a server with two generators, "orders" and one of Twitter's layout, and tags.
func serve(t *testing.T, change func(*server.Config)) *rig {
	t.Helper()
	f := coordtest.NewFake(coordtest.FakeConfig{})
	r := &rig{t: t, fake: f, log: new(strings.Builder)}
	cfg := server.Config{
		Generators: map[string]*core.Generator{
			"orders":  generator(t, f, core.DefaultLayout()),
			"default": generator(t, coordtest.NewFake(coordtest.FakeConfig{}), core.TwitterLayout()),
		},
		Leaf:   server.Leaf{Enabled: true},
		Logger: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.Server, err = server.New(cfg); err != nil {
		t.Fatal(err)
	}
	tag := segment.Tag{Name: "a/b", Next: 1, Step: 100, Description: "<b>"}
	r.SetNumbers(numbers(t, segmenttest.NewFake(tag), segment.Config{}))
	r.http = httptest.NewServer(r.Server)
	t.Cleanup(r.http.Close)
	return r
}

// numbers returns those of the tags of a store.
func numbers(t *testing.T, store segment.Store, cfg segment.Config) *segment.Set {
	t.Helper()
	set, err := segment.NewSet(t.Context(), store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close(context.Background()) })
	return set
}

// reply is an answer with its body.
type reply struct {
	*http.Response
	body string
}

// call sends a request; header lines are "Name: value".
func (r *rig) call(method, path string, header ...string) reply {
	r.t.Helper()
	return r.send(method, r.http.URL+path, http.NoBody, header...)
}

// post sends JSON.
func (r *rig) post(path, body string, header ...string) reply {
	r.t.Helper()
	header = append([]string{"Content-Type: application/json"}, header...)
	return r.send(http.MethodPost, r.http.URL+path, strings.NewReader(body), header...)
}

func (r *rig) send(method, url string, body io.Reader, header ...string) reply {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	resp, err := r.http.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{resp, string(text)}
}

// dial opens a connection that the test closes, and says something.
func (r *rig) dial(addr net.Addr, says string) net.Conn {
	r.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(r.t.Context(), "tcp", addr.String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, says); err != nil {
		r.t.Fatal(err)
	}
	return conn
}

// eventually waits until something is so.
func (r *rig) eventually(what string, so func() bool) {
	r.t.Helper()
	proctest.Eventually(r.t, time.Minute, what, so)
}

// tokenFile writes a token.
func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withTokens gives the server two tokens.
func withTokens(t *testing.T) func(*server.Config) {
	t.Helper()
	tokens := []server.TokenFile{
		{Path: tokenFile(t, generates), Generate: true},
		{Path: tokenFile(t, operates), Generate: true, Operate: true},
	}
	return func(c *server.Config) { c.Tokens = tokens }
}
