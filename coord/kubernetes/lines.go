package kubernetes

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// silence is how long a connection may leave all requests without an answer, until whoever gives
// up waiting for one ends it. What answers pings, as HTTP/2 has them, is not a server that works:
// its store may be out of reach. The next request makes another connection, which may lead to
// another server. Connections that nobody uses end, too: whatever has forgotten one may have
// forgotten all of them.
const silence = time.Second

// lines are the connections of a client of this driver's own. A client that was passed to New is
// used by others, too, and keeps its connections.
type lines struct {
	connect  func(ctx context.Context, network, addr string) (net.Conn, error)
	dropIdle func()  // ends the connections that nobody uses
	all      waiting // for an answer on any of them

	mu   sync.Mutex
	open map[*line]struct{} // nil: none is made any more
}

// waiting tells how long no request had an answer.
type waiting struct {
	mu    sync.Mutex
	since time.Time // when the first request was made since the last answer; zero: none was
}

func (w *waiting) asked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		w.since = lifetime.Now()
	}
}

func (w *waiting) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Time{}
}

// silent reports whether it was too long.
func (w *waiting) silent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.since.IsZero() && lifetime.Since(w.since) >= silence
}

func newLines() *lines {
	return &lines{connect: (&net.Dialer{Timeout: dialTime}).DialContext, open: map[*line]struct{}{}}
}

// line is one connection.
type line struct {
	net.Conn
	of *lines
	waiting
}

// dial makes a connection.
func (ls *lines) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := ls.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l := &line{Conn: conn, of: ls}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.open == nil {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	ls.open[l] = struct{}{}
	return l, nil
}

// Close implements [net.Conn].
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// end closes all connections, and lets none be made.
func (ls *lines) end() {
	ls.mu.Lock()
	open := ls.open
	ls.open = nil
	ls.mu.Unlock()
	for l := range open {
		_ = l.Conn.Close()
	}
}

// use takes note of which connection a request is made on.
type use struct{ line atomic.Pointer[line] }

// trace returns a context with which a request tells its connection.
func (u *use) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		conn := info.Conn
		if t, ok := conn.(*tls.Conn); ok {
			conn = t.NetConn()
		}
		if l, ok := conn.(*line); ok {
			l.asked()
			l.of.all.asked()
			u.line.Store(l)
		}
	}})
}

// answered takes note of an answer. One that says that the server cannot do what it is there
// for ends the connection: another server may.
func (u *use) answered(works bool) {
	l := u.line.Load()
	if l == nil {
		return
	}
	if !works {
		_ = l.Close()
		return
	}
	l.answered()
	l.of.all.answered()
}

// givenUp ends a connection on which nobody had an answer for too long. Each attempt may have been
// too short for that, and made on another one: what counts for those that nobody uses is how long
// there was no answer at all.
func (u *use) givenUp() {
	l := u.line.Load()
	if l == nil {
		return
	}
	silent := l.silent()
	if silent {
		_ = l.Close()
	}
	if silent || l.of.all.silent() {
		l.of.dropIdle()
	}
}
