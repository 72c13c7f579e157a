package drivertest

import (
	"context"
	"net"
	"testing"
)

// Answers listens and gives every connection the same answer to its first request before
// it closes it, as servers of other protocols do.
func Answers(tb testing.TB, answer string) (addr string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(tb.Context(), func() { _ = conn.Close() })
			go func() { // some say nothing before the server has
				defer stop()
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte(answer))
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}
