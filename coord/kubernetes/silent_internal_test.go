package kubernetes

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// piped is a client whose connections all lead to a server.
func piped(server func(conn net.Conn)) (*http.Client, *lines) {
	client, ls := newClient(nil)
	ls.connect = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go server(far)
		return near, nil
	}
	return client, ls
}

// silent are servers that take requests and leave them without an answer.
var silent = map[string]func(conn net.Conn){
	"nothing": func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		_, _ = bufio.NewReader(conn).WriteTo(nobody{})
	},
	"headers": func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		r := bufio.NewReader(conn)
		if _, err := http.ReadRequest(r); err == nil {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: %s\r\nContent-Length: 1000\r\n\r\n{", time.Now().UTC().Format(http.TimeFormat))
			_, _ = r.WriteTo(nobody{})
		}
	},
}

// absent says to all requests that there is no such Lease, until the connection ends.
func absent(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for r := bufio.NewReader(conn); ; {
		if _, err := http.ReadRequest(r); err != nil || !saysAbsent(conn) {
			return
		}
	}
}

// saysAbsent answers a request.
func saysAbsent(conn net.Conn) bool {
	const none = `{"kind":"Status","reason":"NotFound"}`
	_, err := fmt.Fprintf(conn, "HTTP/1.1 404 Not Found\r\nDate: %s\r\nContent-Length: %d\r\n\r\n%s", time.Now().UTC().Format(http.TimeFormat), len(none), none)
	return err == nil
}

// nobody reads what is written.
type nobody struct{}

func (nobody) Write(b []byte) (int, error) { return len(b), nil }

// calls are those of a coordinator.
func calls() map[string]func(ctx context.Context, c *Coordinator) error {
	g := coord.Grant{WorkerID: 3, Token: "t", Generation: 1, NotBefore: 10, NotAfter: 20}
	return map[string]func(ctx context.Context, c *Coordinator) error{
		"Acquire": func(ctx context.Context, c *Coordinator) error {
			_, err := c.Acquire(ctx, drivertest.Request(4))
			return err
		},
		"Renew":   func(ctx context.Context, c *Coordinator) error { _, err := c.Renew(ctx, g, 30); return err },
		"Release": func(ctx context.Context, c *Coordinator) error { return c.Release(ctx, g, 15) },
		"Inspect": func(ctx context.Context, c *Coordinator) error { _, err := c.Inspect(ctx); return err },
		"Retire":  func(ctx context.Context, c *Coordinator) error { return c.Retire(ctx, 3) },
		"Quarantine": func(ctx context.Context, c *Coordinator) error {
			_, err := c.Quarantine(ctx, time.Now().Add(time.Minute))
			return err
		},
	}
}

// TestSilent: a server takes requests and never answers, or begins to and stops. No call lasts for ever,
// whether its context has an end or not, and nothing stays behind.
func TestSilent(t *testing.T) {
	for kind, server := range silent {
		for name, call := range calls() {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client, ls := piped(server)
					c, err := build(client, ls, "http://silent", "orders", Options{In: "shop"}, nil)
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					err = call(context.Background(), c)
					if took := time.Since(began); err == nil || took < longest || took > (reads+1)*longest {
						t.Errorf("without a deadline: %v after %v", err, took)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					began = time.Now()
					if err = call(ctx, c); err == nil || time.Since(began) != 2*time.Second {
						t.Errorf("with 2s: %v after %v", err, time.Since(began))
					}
					ended := make(chan error)
					go func() { ended <- call(context.Background(), c) }()
					synctest.Wait()
					began = time.Now()
					if err := c.Close(); err != nil || time.Since(began) != 0 {
						t.Errorf("Close: %v after %v", err, time.Since(began))
					}
					if err := <-ended; err == nil || time.Since(began) != 0 {
						t.Errorf("under way when it was closed: %v after %v", err, time.Since(began))
					}
				})
			})
		}
	}
}

// TestSilentWatch: a watch of which nothing is heard is begun again.
func TestSilentWatch(t *testing.T) {
	lasts := map[string]time.Duration{"nothing": longest, "headers": watchTime + longest}
	for kind, server := range silent {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, ls := piped(server)
				defer ls.end()
				s := newStore(&api{client: client, lines: ls, leases: "http://silent/leases"}, "orders", Options{})
				began := time.Now()
				if gone, err := s.watch(t.Context(), "n", "t", 1); gone || err == nil || time.Since(began) != lasts[kind] {
					t.Errorf("%t, %v after %v", gone, err, time.Since(began))
				}
			})
		})
	}
}

// TestClosed: a connection that nobody uses ends with its coordinator, and none is made after that.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan time.Time, 1)
		client, ls := piped(func(conn net.Conn) {
			absent(conn)
			over <- time.Now()
		})
		c, err := build(client, ls, "http://h", "orders", Options{In: "shop"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.Inspect(t.Context()); err != nil || n.Layout != "" {
			t.Fatalf("%+v, %v", n, err)
		}
		began := time.Now()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if at := <-over; at != began {
			t.Errorf("the connection ended %v after Close", at.Sub(began))
		}
		if conn, err := ls.dial(t.Context(), "tcp", "h:80"); err == nil {
			t.Errorf("a connection after Close: %v", conn)
		}
	})
}

// TestHasty: what changes nothing is asked again, of whom another connection leads to, while there is time: also
// if several connections in a row lead to a server that hangs.
func TestHasty(t *testing.T) {
	for hung := range int64(reads) {
		synctest.Test(t, func(t *testing.T) {
			var made atomic.Int64
			client, ls := piped(func(conn net.Conn) {
				if made.Add(1) <= hung {
					silent["nothing"](conn)
				} else {
					absent(conn)
				}
			})
			c, err := build(client, ls, "http://h", "orders", Options{In: "shop"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			most := time.Duration(hung)*hasty + time.Second
			ctx, cancel := context.WithTimeout(t.Context(), most)
			defer cancel()
			began := time.Now()
			if n, err := c.Inspect(ctx); err != nil || n.Layout != "" {
				t.Errorf("%d connections lead to a server that hangs: %+v, %v after %v", hung, n, err, time.Since(began))
			}
		})
	}
}
