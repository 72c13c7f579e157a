package kubernetes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
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
	c, err := build(client, true, "http://silent", "orders", Options{In: "shop"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// silent are servers that take requests and leave them without an answer.
var silent = map[string]func(conn net.Conn){
	"nothing": func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		_, _ = bufio.NewReader(conn).WriteTo(io.Discard)
	},
	"headers": func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		r := bufio.NewReader(conn)
		if _, err := http.ReadRequest(r); err == nil {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: %s\r\nContent-Length: 1000\r\n\r\n{", time.Now().UTC().Format(http.TimeFormat))
			_, _ = r.WriteTo(io.Discard)
		}
	},
}

// TestSilent: a server takes requests and never answers, or begins to and stops. No call lasts for
// ever, whether its context has an end or not, and nothing stays behind.
func TestSilent(t *testing.T) {
	call := func(ctx context.Context, c *Coordinator) error {
		_, err := c.Acquire(ctx, drivertest.Request(4))
		return err
	}
	for kind, server := range silent {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := piped(t, server)
				began := time.Now()
				err := call(context.Background(), c)
				if took := time.Since(began); err == nil || took != longest {
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
				if err := errors.Join(c.Close(), <-ended); err == nil || time.Since(began) != 0 {
					t.Errorf("Close, and the call under way: %v after %v", err, time.Since(began))
				}
			})
		})
	}
}
