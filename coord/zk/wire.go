package zk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// lengthBytes come before every packet.
	lengthBytes = 4
	// headBytes of a packet are looked at: after them come the fields of the answer.
	headBytes = 16
	// handshakeMost is the longest answer to the request for a session.
	handshakeMost = 256
)

// errForeign says that what answers is no ZooKeeper.
var errForeign = errors.New("the answer is not in ZooKeeper's protocol: is this the port for clients, without TLS?")

// wire is a connection to a server that reads along. The client library keeps to
// itself what it learns there: the timeout that the server decided, the transaction
// numbers of answers, and which requests were sent. It also believes every length
// that it is told, and waits long for an answer to its first packet.
type wire struct {
	net.Conn
	limit  int // the longest packet that is accepted
	opened func(greeting)
	saw    func(zxid int64, request bool)
	worry  func(error)

	// Of the packet that is being read. Only the client's one reader uses them.
	length [lengthBytes]byte
	head   [headBytes]byte
	have   int // bytes of length and head so far
	left   int // bytes to come, without the length
	shaken bool

	mu    sync.Mutex
	sent  map[int32]int // requests by their operation
	bell  chan struct{} // closed with the next request
	hello bool          // the request for a session was sent
	mute  bool          // nothing is sent any more, and the next try ends the connection
}

// greeting is what a server answers to the request for a session.
type greeting struct {
	timeout time.Duration
	session int64 // 0: it has ended
}

// newWire watches conn, on which an answer must come within patience.
func newWire(conn net.Conn, limit int, patience time.Duration, opened func(greeting), saw func(int64, bool), worry func(error)) (*wire, error) {
	w := &wire{Conn: conn, limit: limit, opened: opened, saw: saw, worry: worry, sent: map[int32]int{}, bell: make(chan struct{})}
	return w, conn.SetDeadline(deadline(patience))
}

// SetReadDeadline does nothing until the session is there: the deadline of the
// handshake holds.
func (w *wire) SetReadDeadline(t time.Time) error {
	if !w.shaken {
		return nil
	}
	return w.Conn.SetReadDeadline(t)
}

// SetWriteDeadline is likewise.
func (w *wire) SetWriteDeadline(t time.Time) error {
	if !w.shaken {
		return nil
	}
	return w.Conn.SetWriteDeadline(t)
}

// Read reads and looks at what was read.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if seen := w.look(b[:n]); seen != nil {
		n, err = 0, seen
		if w.shaken {
			w.worry(fmt.Errorf("%v: %w", w.RemoteAddr(), seen))
		}
	}
	if err != nil && !w.shaken {
		w.worry(w.refused(err))
	}
	return n, err
}

// refused says what it means that there was no answer to the request for a session.
func (w *wire) refused(err error) error {
	server := w.RemoteAddr()
	switch {
	case errors.Is(err, errForeign):
		return fmt.Errorf("%v: %w", server, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%v accepts connections and does not answer: is this ZooKeeper's port for clients, without TLS?", server)
	}
	return fmt.Errorf("%v ends connections without an answer: it has no quorum, or it has as many connections from this host as its maxClientCnxns allows, or its data are older than what was seen before", server)
}

// look follows the packets.
func (w *wire) look(b []byte) error {
	for len(b) > 0 {
		if w.have < lengthBytes {
			n := copy(w.length[w.have:], b)
			w.have, b = w.have+n, b[n:]
			if w.have == lengthBytes {
				if err := w.begin(); err != nil {
					return err
				}
			}
			continue
		}
		n := min(len(b), w.left)
		if at := w.have - lengthBytes; at < headBytes {
			w.have += copy(w.head[at:], b[:n])
		}
		w.left, b = w.left-n, b[n:]
		if w.left == 0 {
			if err := w.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin is called when the length of a packet is known.
func (w *wire) begin() error {
	n := binary.BigEndian.Uint32(w.length[:])
	switch {
	case n < headBytes || !w.shaken && n > handshakeMost:
		return errForeign
	case n > uint32(w.limit):
		return fmt.Errorf("an answer of %d bytes is longer than the %d that can be right", n, w.limit)
	}
	w.left = int(n)
	return nil
}

// end is called when a packet is complete.
func (w *wire) end() error {
	w.have = 0
	if !w.shaken {
		g := greeting{
			timeout: time.Duration(int32(binary.BigEndian.Uint32(w.head[4:]))) * time.Millisecond,
			session: int64(binary.BigEndian.Uint64(w.head[8:])),
		}
		if version := binary.BigEndian.Uint32(w.head[:]); version != 0 || g.timeout < 0 {
			return errForeign
		}
		w.shaken = true
		w.opened(g)
		return w.Conn.SetDeadline(time.Time{})
	}
	if zxid := int64(binary.BigEndian.Uint64(w.head[4:])); zxid > 0 {
		// Requests are numbered from 1 on; pings have a number below zero.
		w.saw(zxid, int32(binary.BigEndian.Uint32(w.head[:])) > 0)
	}
	return nil
}

// Write sends one packet: the client makes one call for each.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	mute := w.mute
	w.mu.Unlock()
	if mute {
		// The client waits for the answer or for the end of the connection.
		return len(b), w.Close()
	}
	n, err := w.Conn.Write(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.hello {
		w.hello = true
		return n, err
	}
	if len(b) >= lengthBytes+8 {
		w.sent[int32(binary.BigEndian.Uint32(b[lengthBytes+4:]))]++
		close(w.bell)
		w.bell = make(chan struct{})
	}
	return n, err
}

// count returns how many requests of an operation were sent, and a channel that is
// closed with the next request of any.
func (w *wire) count(op int32) (int, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[op], w.bell
}

// hush keeps everything from the server from now on, so that a client that is closed
// does not end its session.
func (w *wire) hush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute = true
}
