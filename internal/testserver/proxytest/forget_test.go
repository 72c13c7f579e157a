package proxytest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// Nothing gets through on a connection that was forgotten, not even that the server has closed it.
// New ones work.
func TestForget(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	p := proxytest.Start(t, l.Addr().String())
	dial := func() (client, server net.Conn) {
		t.Helper()
		client, err := net.Dial("tcp", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		server = <-accepted
		t.Cleanup(func() { server.Close() })
		return client, server
	}
	pass := func(from, to net.Conn) {
		t.Helper()
		if _, err := from.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	client, server := dial()
	pass(client, server)
	p.Forget()
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	again, other := dial()
	pass(again, other)
	pass(other, again)
	silent := func(c net.Conn) {
		t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes, %v came; want nothing", n, err)
		}
	}
	silent(server)
	server.Close()
	silent(client)
}
