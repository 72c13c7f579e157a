package proxytest_test

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// TestBar: connections that begin in some way are cut, those that there are and new ones. Others go
// on, and all when it ends.
func TestBar(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	p := proxytest.Start(t, l.Addr().String())
	echoes := func(c net.Conn, text string) bool {
		t.Helper()
		if _, err := io.WriteString(c, text); err != nil {
			return false
		}
		b := make([]byte, len(text))
		_, err := io.ReadFull(c, b)
		return err == nil && string(b) == text
	}
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	a, b := dial(), dial()
	if !echoes(a, "from a") || !echoes(b, "from b") {
		t.Fatal("it does not forward")
	}
	p.Bar(func(first []byte) bool { return bytes.Contains(first, []byte("a")) })
	if echoes(a, "again") || echoes(dial(), "from a") || !echoes(b, "a") || !echoes(dial(), "from b") {
		t.Error("what is barred gets through, or what is not does not")
	}
	p.Bar(nil)
	if !echoes(dial(), "from a") {
		t.Error("what is not barred any more does not get through")
	}
}
