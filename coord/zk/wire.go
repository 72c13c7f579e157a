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

var (
	// errForeign says that what answers is no ZooKeeper.
	errForeign = errors.New("the answer is not in ZooKeeper's protocol: is this the port for clients, without TLS?")
	// errUnanswered says that there was no answer to the request for a session.
	errUnanswered = errors.New("accepts connections and does not answer: is this ZooKeeper's port for clients, without TLS?")
	// errSilence says that a connection was given up on which nothing arrived.
	errSilence = errors.New("owes answers and has sent nothing for long")
)

// wire is a connection to a server that reads along. The client library keeps to
// itself what it learns there: the timeout that the server decided, the transaction
// numbers in answers to pings, and which requests were sent. It also believes every length
// that it is told, and waits long for an answer to its first packet. When it gives up
// a connection later does not depend on how long answers take; see debts.
type wire struct {
	net.Conn
	debts
	limit  int // the longest packet that is accepted
	opened func(greeting)
	saw    func(zxid int64)
	worry  func(error)

	// Of the packet that is being read. Only the client's one reader uses them.
	length [lengthBytes]byte
	head   [headBytes]byte
	have   int // bytes of length and head so far
	left   int // bytes to come, without the length
	shaken bool
	again  bool // the last read ended with the deadline

	mu    sync.Mutex    // guards debts, too
	sent  map[int32]int // requests by their operation
	bell  chan struct{} // closed with the next request
	hello bool          // the request for a session was sent
	mute  bool          // nothing is sent any more, and the next try ends the connection
}

// greeting is what a server answers to the request for a session.
type greeting struct {
	timeout time.Duration
	session int64 // 0: it has ended
	took    time.Duration
}

// newWire watches conn, on which an answer must come within patience, for a session
// that lasts ttl.
func newWire(conn net.Conn, limit int, patience, ttl time.Duration, opened func(greeting), saw func(int64), worry func(error)) (*wire, error) {
	w := &wire{Conn: conn, debts: debts{ttl: ttl}, limit: limit, opened: opened, saw: saw, worry: worry, sent: map[int32]int{}, bell: make(chan struct{})}
	return w, conn.SetDeadline(deadline(patience))
}

// SetReadDeadline does nothing: the deadline of the handshake holds, and then that of
// the debts. The client's would end a connection for one slow answer.
func (w *wire) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing until the session is there: the deadline of the
// handshake holds.
func (w *wire) SetWriteDeadline(t time.Time) error {
	if !w.shaken {
		return nil
	}
	return w.Conn.SetWriteDeadline(t)
}

// Read reads and looks at what was read.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if w.shaken && errors.Is(err, os.ErrDeadlineExceeded) && !w.again {
		// A process that was paused finds its deadline over and its answers there.
		w.again = true
		if err = w.Conn.SetReadDeadline(deadline(lastLook)); err == nil {
			n, err = w.Conn.Read(b)
		}
	}
	if seen := w.look(b[:n]); seen != nil {
		n, err = 0, seen
		if w.shaken {
			w.worry(fmt.Errorf("%v: %w", w.RemoteAddr(), seen))
		}
	}
	switch {
	case err != nil && !w.shaken:
		w.worry(w.refused(err))
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.worry(fmt.Errorf("%v %w", w.RemoteAddr(), errSilence))
	case err == nil && w.shaken:
		w.again = false
		err = w.heard()
	}
	return n, err
}

// heard sets the time until which the next answer has to begin to come.
func (w *wire) heard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit, err := w.patience(now())
	if err != nil {
		return err
	}
	return w.Conn.SetReadDeadline(limit)
}

// refused says what it means that there was no answer to the request for a session.
func (w *wire) refused(err error) error {
	server := w.RemoteAddr()
	switch {
	case errors.Is(err, errForeign):
		return fmt.Errorf("%v: %w", server, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%v %w", server, errUnanswered)
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
		w.mu.Lock()
		g.took = w.paid(helloRequest, now())
		w.mu.Unlock()
		w.opened(g)
		return w.Conn.SetDeadline(time.Time{})
	}
	request := int32(binary.BigEndian.Uint32(w.head[:]))
	w.mu.Lock()
	w.paid(request, now())
	w.mu.Unlock()
	// Requests are numbered from 1 on; pings have a number below zero.
	if zxid := int64(binary.BigEndian.Uint64(w.head[4:])); zxid > 0 && request < 0 {
		w.saw(zxid)
	}
	return nil
}

// Write sends one packet: the client makes one call for each.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	mute, first := w.mute, !w.hello
	w.hello = true
	if !mute {
		w.owe(b, first)
	}
	w.mu.Unlock()
	if mute {
		// The client waits for the answer or for the end of the connection.
		return len(b), w.Close()
	}
	n, err := w.Conn.Write(b)
	if first || len(b) < lengthBytes+8 {
		return n, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[int32(binary.BigEndian.Uint32(b[lengthBytes+4:]))]++
	close(w.bell)
	w.bell = make(chan struct{})
	return n, err
}

// owe takes note of a packet that is sent now. The lock is held.
func (w *wire) owe(b []byte, first bool) {
	switch {
	case first:
		w.lend(helloRequest, now())
	case len(b) < lengthBytes+4:
	case w.lend(int32(binary.BigEndian.Uint32(b[lengthBytes:])), now()):
		_ = w.Conn.SetReadDeadline(deadline(w.silence()))
	}
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
