package drivertest

import (
	"context"
	"net"
	"testing"
)

// Listen listens and calls serve for each connection, which ends when serve returns, or with the
// test.
func Listen(tb testing.TB, serve func(net.Conn)) (addr string) {
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
			go func() {
				defer stop()
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// Answers listens and gives every connection the same answer to its first request before
// it closes it, as servers of other protocols do.
func Answers(tb testing.TB, answer string) (addr string) {
	tb.Helper()
	return Listen(tb, func(conn net.Conn) { // some say nothing before the server has
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = conn.Write([]byte(answer))
	})
}

// Greets listens, speaks first, as some servers do, and reads one request without an answer.
func Greets(tb testing.TB, greeting string) (addr string) {
	tb.Helper()
	return Listen(tb, func(conn net.Conn) {
		_, _ = conn.Write([]byte(greeting))
		_, _ = conn.Read(make([]byte, 4096))
	})
}

// AnswersAll listens and gives every request the same answer.
func AnswersAll(tb testing.TB, answer string) (addr string) {
	tb.Helper()
	return Listen(tb, func(conn net.Conn) {
		for b := make([]byte, 4096); ; {
			if _, err := conn.Read(b); err != nil {
				return
			}
			if _, err := conn.Write([]byte(answer)); err != nil {
				return
			}
		}
	})
}

// AnswersOnly listens and answers one request. It hangs up on all others.
func AnswersOnly(tb testing.TB, request, answer string) (addr string) {
	tb.Helper()
	return Listen(tb, func(conn net.Conn) {
		b := make([]byte, 4096)
		if n, _ := conn.Read(b); string(b[:n]) == request {
			_, _ = conn.Write([]byte(answer))
			_, _ = conn.Read(b)
		}
	})
}
