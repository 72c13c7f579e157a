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
	"github.com/unalike-id/unalike/internal/protocol"
)

// piped is a coordinator whose connections all lead to a server.
func piped(t *testing.T, server func(conn net.Conn)) *Coordinator {
	t.Helper()
	client := newClient(nil)
	client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go server(far)
		return near, nil
	}
	c, err := build(client, true, "http://silent", "orders", Options{In: "shop"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
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

// TestSilent: a server takes requests and never answers, or begins to and stops. No call lasts for
// ever, whether its context has an end or not, and nothing stays behind.
func TestSilent(t *testing.T) {
	for kind, server := range silent {
		for name, call := range calls() {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := piped(t, server)
					began := time.Now()
					err := call(context.Background(), c)
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
				c := piped(t, server)
				s := newStore(&api{client: c.api.client, leases: "http://silent/leases"}, "orders", Options{})
				began := time.Now()
				slot := protocol.Entry[protocol.Slot]{Version: 1}
				if gone, err := s.watch(t.Context(), slot); gone || err == nil || time.Since(began) != lasts[kind] {
					t.Errorf("%t, %v after %v", gone, err, time.Since(began))
				}
			})
		})
	}
}

// TestHasty: what changes nothing is asked again, of whom another connection leads to, while there
// is time: also if several connections in a row lead to a server that hangs. One that nobody uses
// ends with its coordinator.
func TestHasty(t *testing.T) {
	for hung := range int64(reads) {
		synctest.Test(t, func(t *testing.T) {
			var made, over atomic.Int64
			c := piped(t, func(conn net.Conn) {
				if made.Add(1) <= hung {
					silent["nothing"](conn)
				} else {
					absent(conn)
				}
				over.Add(1)
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(hung)*hasty+time.Second)
			defer cancel()
			began := time.Now()
			if n, err := c.Inspect(ctx); err != nil || n.Layout != "" {
				t.Errorf("%d connections lead to a server that hangs: %+v, %v after %v", hung, n, err, time.Since(began))
			}
			_ = c.Close()
			synctest.Wait()
			if made.Load() != over.Load() {
				t.Errorf("%d connections were made, and %d are over", made.Load(), over.Load())
			}
		})
	}
}
