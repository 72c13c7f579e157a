package zk

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// dialTime bounds connecting to one server, the first time round.
const dialTime = time.Second

// hosts chooses the server of the next connection, and connects to it. It implements the
// client's HostProvider, because the client's own looks names up once and for all, and pauses
// for a whole second each time round.
type hosts struct {
	life context.Context // of the session
	ttl  time.Duration

	mu      sync.Mutex
	servers []string
	next    int
	tried   int // servers in this time round and those before, since the last connection
}

// Init implements the client's HostProvider. The client has shuffled the servers.
func (h *hosts) Init(servers []string) error {
	h.servers = servers
	return nil
}

// Len implements the client's HostProvider.
func (h *hosts) Len() int { return len(h.servers) }

// Next implements the client's HostProvider. The second result has the client look
// whether it was closed.
func (h *hosts) Next() (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	return s, h.life.Err() != nil
}

// Connected implements the client's HostProvider. Many clients may lose their connections
// together, so the next time round is not the first.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried = len(h.servers)
}

// dial connects to a server. The first time round it does so at once; then it pauses before
// that, longer and longer, and each time round there is twice the time.
func (h *hosts) dial(address string) (*link, error) {
	h.mu.Lock()
	round := min(h.tried/len(h.servers), 4)
	h.tried++
	h.mu.Unlock()
	if err := lifetime.Pause(h.life, round); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTime << round}
	conn, err := d.DialContext(h.life, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &link{Conn: conn, answerTime: min(max(dialTime, h.ttl/5)<<round, h.ttl)}, nil
}

// longestGreeting is the longest answer to the request for a session.
const longestGreeting = 256

// link is a connection to a server. It bounds the answer to the request for a session, for
// which the client waits more than six times as long as the session lasts, and whose length
// it believes: it would set aside a gigabyte for an answer of HTTP.
type link struct {
	net.Conn
	answerTime time.Duration
	login      []byte // the packet that shows credentials; empty: there are none
	reads      int    // of the first answer; only the client's reader uses it
	of         *session
}

// Write sends one packet, and tells when that was the clock's write, which the client does not.
func (l *link) Write(b []byte) (int, error) {
	n, err := l.Conn.Write(b)
	if sent := l.of.clockSent.Load(); sent != nil && bytes.Contains(b, []byte(l.of.nodes.clock())) {
		(*sent)()
	}
	return n, err
}

// SetReadDeadline passes on the deadlines of a connection with a session. That of the first
// answer is nearer than the client wants. Each holds until the client sets another one, which
// takes it away before an answer is complete.
func (l *link) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if l.reads == 0 {
		t = lifetime.Now().Add(l.answerTime)
	}
	return l.Conn.SetReadDeadline(t)
}

// Read reads, first of all the length of the first answer and then that answer, as the client does.
// The answer begins with the version of the protocol, and has the timeout and the ID of the session
// next; a session that has expired has none.
func (l *link) Read(b []byte) (n int, err error) {
	switch l.reads++; l.reads {
	case 1:
		n, err = io.ReadFull(l.Conn, b[:4])
		if err == nil && binary.BigEndian.Uint32(b) > longestGreeting {
			return 0, errForeign
		}
	case 2:
		n, err = io.ReadFull(l.Conn, b)
		if err == nil && n >= 16 && binary.BigEndian.Uint64(b[8:]) != 0 {
			timeout := time.Duration(binary.BigEndian.Uint32(b[4:])) * time.Millisecond
			l.of.greeted(int64(binary.BigEndian.Uint64(b[8:])), timeout)
		}
	default:
		return l.Conn.Read(b)
	}
	return n, err
}
