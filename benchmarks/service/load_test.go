package service

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/admission"
	"github.com/unalike-id/unalike/metrics"
	"github.com/unalike-id/unalike/server"
)

// connections is how many there are at a time.
const connections = 32

// handlers are the service and a bare handler, which issues an ID and sends the same response. It
// has no routes, limits, metrics, access log and request IDs.
func handlers(b *testing.B) map[string]http.Handler {
	b.Helper()
	g := generator(b, core.DefaultLayout())
	return map[string]http.Handler{
		"ids": serverOf(b, core.DefaultLayout()),
		"bare": uncached(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			id, err := g.Next()
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			body := strconv.AppendInt([]byte(`{"ids":["`), int64(id), 10)
			_, _ = w.Write(append(body, "\"]}\n"...)) // a caller that does not read it has gone
		})),
	}
}

// uncached is a handler whose responses have the headers of all responses of the service.
func uncached(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		h.ServeHTTP(w, r)
	})
}

// generator returns a generator of a layout.
func generator(b *testing.B, l core.Layout) *core.Generator {
	b.Helper()
	c := namespace{coordtest.NewFake(coordtest.FakeConfig{}).Client()}
	g, err := core.New(b.Context(), c, core.Config{Layout: l})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// open starts a server for a handler. Ours has the bounds of the service on its connections.
func open(h http.Handler) *httptest.Server {
	page := httptest.NewUnstartedServer(h)
	if _, ours := h.(*server.Server); ours {
		page.Listener = admission.Listen(page.Listener, admission.Config{
			Room: 1000, Age: time.Hour, Closed: func() {},
		})
		page.Config.ConnContext = admission.WithConn
	}
	page.Start()
	return page
}

// serverOf returns a server of one generator, whose namespace has a nonce, with its bounds, metrics
// and access log.
func serverOf(b *testing.B, l core.Layout) http.Handler {
	b.Helper()
	meter, err := metrics.RegisterServer(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	s, err := server.New(server.Config{
		Generators: map[string]*core.Generator{"default": generator(b, l)}, Meter: meter,
		AccessLog: server.AccessAll, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// namespace is a coordinator whose namespace has a nonce.
type namespace struct{ coord.Coordinator }

// nonce is as long as those of real namespaces.
const nonce = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Inspect is that of coord.AdminCoordinator.
func (namespace) Inspect(context.Context) (coord.Namespace, error) {
	return coord.Namespace{Layout: "x", Nonce: nonce}, nil
}

// request is for one ID.
const request = "GET /v1/generators/default/ids HTTP/1.1\r\nHost: localhost\r\n\r\n"

// conn is a connection that costs much less than the server that it measures.
type conn struct {
	net.Conn
	in      *bufio.Reader
	request string
}

// dial connects to a server, for so many callers who all make the same request.
func dial(b *testing.B, page *httptest.Server, callers int, request string) (all []*conn) {
	b.Helper()
	for range callers {
		c, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", page.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		all = append(all, &conn{c, bufio.NewReader(c), request})
	}
	return all
}

// ask sends the request and reads the answer.
func (c *conn) ask() error {
	if _, err := io.WriteString(c, c.request); err != nil {
		return err
	}
	status, err := c.in.ReadString('\n')
	if err != nil || !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		return fmt.Errorf("%.100q in place of a reply: %w", status, err)
	}
	length := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= len("\r\n") {
			break
		}
		if value, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	_, err = c.in.Discard(length)
	return err
}

// saturate makes n requests on all connections, as fast as they are answered.
func saturate(b *testing.B, all []*conn, n int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	var work sync.WaitGroup
	for _, c := range all {
		work.Go(func() {
			for left.Add(-1) >= 0 {
				if err := c.ask(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
}

// pace makes n requests, one every so often, and returns how long after it was due each was
// answered: a request that is slow counts for those that had to wait for it as well.
func pace(b *testing.B, all []*conn, n int, every time.Duration) []time.Duration {
	b.Helper()
	overdue := make([]time.Duration, n)
	var next atomic.Int64
	var work sync.WaitGroup
	start := time.Now()
	for _, c := range all {
		work.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				due := time.Duration(i) * every
				if early := due - time.Since(start); early > 0 {
					time.Sleep(early)
				}
				if err := c.ask(); err != nil {
					b.Error(err)
					return
				}
				overdue[i] = time.Since(start) - due
			}
		})
	}
	work.Wait()
	return overdue
}
