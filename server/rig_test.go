package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
	"github.com/unalike-id/unalike/server"
)

// Tokens of the tests.
const (
	generates = "generates-0123456789"
	operates  = "operates-0123456789"
)

// rig is a server under test.
type rig struct {
	*server.Server
	t    *testing.T
	http *httptest.Server
	fake *coordtest.Fake
	log  *strings.Builder
}

// generator returns a generator with a layout.
func generator(t *testing.T, f *coordtest.Fake, l core.Layout) server.Generator {
	t.Helper()
	g, err := core.New(t.Context(), f.Client(), core.Config{Layout: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// inNamespace is a generator with another coordinator.
type inNamespace struct {
	server.Generator
	c coord.Coordinator
}

func (g inNamespace) Coordinator() coord.Coordinator { return g.c }

// serve returns a server with two generators, "orders" and one of Twitter's layout, and tags.
func serve(t *testing.T, change func(*server.Config)) *rig {
	t.Helper()
	f := coordtest.NewFake(coordtest.FakeConfig{})
	r := &rig{t: t, fake: f, log: new(strings.Builder)}
	cfg := server.Config{
		Generators: map[string]server.Generator{
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
	set, err := segment.NewSet(t.Context(), segmenttest.NewFake(segment.Tag{Name: "a/b", Next: 1, Step: 100, Description: "<b>"}), segment.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close(context.Background()) })
	r.Sequences(set)
	r.http = httptest.NewServer(r.Server)
	t.Cleanup(r.http.Close)
	return r
}

// reply is an answer with its body.
type reply struct {
	*http.Response
	body string
}

// call sends a request; header lines are "Name: value".
func (r *rig) call(method, path string, header ...string) reply {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.http.URL+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	return r.do(req)
}

func (r *rig) do(req *http.Request) reply {
	r.t.Helper()
	resp, err := r.http.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{resp, string(body)}
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
	tokens, err := server.NewTokens([]server.TokenFile{
		{Path: tokenFile(t, generates), May: server.Generate},
		{Path: tokenFile(t, operates), May: server.Generate | server.Operate},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *server.Config) { c.Tokens = tokens }
}
