package zk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// lengthBytes come before every packet.
	lengthBytes = 4
	// headBytes of a packet are looked at: after them come the fields of the answer.
	headBytes = 16
	// handshakeMost is the longest answer to the request for a session.
	handshakeMost = 256
	// setWatches is the operation with which the client sets its watches again.
	setWatches = 101
)

var (
	// errForeign says that what answers is no ZooKeeper.
	errForeign = errors.New("the answer is not in ZooKeeper's protocol: " + drivers.Question("a ZooKeeper", false))
	// errUnanswered says that there was no answer to the request for a session.
	errUnanswered = errors.New("accepts connections and does not answer: " + drivers.Question("a ZooKeeper", false))
	// errSilence says that a connection was given up on which nothing arrived.
	errSilence = errors.New("owes answers and has sent nothing for long")
)

// observer learns what is said on a connection.
type observer interface {
	// sends is called before a packet is sent, which is a request of the session's or not.
	// With an error, it is not sent.
	sends(request bool) error
	// greeted is called with the answer to the request for a session.
	greeted(greeting)
	// failed is called with what is wrong with the connection.
	failed(error)
}

// wire is a net.Conn that reads along. The client library keeps to itself what it learns
// there: the timeout that the server decided, the transaction numbers in answers to pings,
// and which requests were sent. It also believes every length that it is told, and waits
// long for an answer to its first packet. When it gives up a connection later does not
// depend on how long answers take; see pending.
type wire struct {
	net.Conn
	of    observer
	limit int    // the longest packet that is accepted
	login []byte // see loginPacket; nil: there are no credentials

	// Of the packet that is being read. Only the client's one reader uses them.
	head   [lengthBytes + headBytes]byte
	have   int  // bytes so far
	size   int  // bytes of all of it; 0: not known yet
	shaken bool // the session is there; written before the client's reader and writer part

	mu sync.Mutex // guards what is pending
	pending
}

// greeting is what a server answers to the request for a session.
type greeting struct {
	timeout time.Duration
	session int64 // 0: it has ended
	took    time.Duration
}

// loginPacket is the packet that shows credentials. It is sent on each connection, after
// the request for a session and before anything else.
func loginPacket(user, password string) []byte {
	const number, operation, kind = -4, 100, 0
	var b []byte
	for _, n := range []int32{number, operation, kind} {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, text := range []string{"digest", user + ":" + password} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// SetReadDeadline does nothing: the deadline of the handshake holds, and then that
// of what is pending. The client's would end a connection for one slow answer.
func (w *wire) SetReadDeadline(time.Time) error { return nil }

// Read reads and looks at what was read.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if seen := w.look(b[:n]); seen != nil {
		n, err = 0, seen
		if w.shaken {
			w.of.failed(fmt.Errorf("%v: %w", w.RemoteAddr(), seen))
		}
	}
	switch {
	case err != nil && !w.shaken:
		w.of.failed(w.refused(err))
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.of.failed(fmt.Errorf("%v %w", w.RemoteAddr(), errSilence))
	case err == nil && w.shaken:
		err = w.heard()
	}
	return n, err
}

// heard sets the time until which the next answer has to begin to come.
func (w *wire) heard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit, err := w.until(lifetime.Now())
	if err != nil {
		return err
	}
	return w.Conn.SetReadDeadline(limit)
}

// refused is the error of a request for a session that got no answer.
func (w *wire) refused(err error) error {
	server := w.RemoteAddr()
	switch {
	case errors.Is(err, errForeign):
		return fmt.Errorf("%v: %w", server, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%v %w", server, errUnanswered)
	}
	return fmt.Errorf("%v ends connections without an answer: it has no quorum, or it has as many connections from this host as its maxClientCnxns allows, or its data are older than what was seen before; or %s", server, drivers.Question("a ZooKeeper", false))
}

// look follows the packets.
func (w *wire) look(b []byte) (err error) {
	for err == nil && len(b) > 0 {
		size := w.size
		if size == 0 {
			size = lengthBytes
		}
		n := min(len(b), size-w.have)
		copy(w.head[min(w.have, len(w.head)):], b[:n])
		w.have, b = w.have+n, b[n:]
		switch {
		case w.have < size:
		case w.size == 0:
			err = w.begin()
		default:
			w.have, w.size = 0, 0
			err = w.end(w.head[lengthBytes:])
		}
	}
	return err
}

// begin is called when the length of a packet is known.
func (w *wire) begin() error {
	n := binary.BigEndian.Uint32(w.head[:])
	switch {
	case n < headBytes || !w.shaken && n > handshakeMost:
		return errForeign
	case n > uint32(w.limit):
		return fmt.Errorf("an answer of %d bytes is longer than the %d that can be right", n, w.limit)
	}
	w.size = lengthBytes + int(n)
	return nil
}

// end is called when a packet is complete.
func (w *wire) end(head []byte) error {
	if !w.shaken {
		g := greeting{
			timeout: time.Duration(int32(binary.BigEndian.Uint32(head[4:]))) * time.Millisecond,
			session: int64(binary.BigEndian.Uint64(head[8:])),
		}
		if version := binary.BigEndian.Uint32(head); version != 0 || g.timeout < 0 {
			return errForeign
		}
		w.shaken = true
		w.mu.Lock()
		g.took = w.answered(sessionRequest, lifetime.Now())
		w.mu.Unlock()
		w.of.greeted(g)
		if err := w.Conn.SetDeadline(time.Time{}); err != nil || w.login == nil {
			return err
		}
		_, err := w.Conn.Write(w.login) // before the client sends anything
		return err
	}
	request := int32(binary.BigEndian.Uint32(head))
	w.mu.Lock()
	w.answered(request, lifetime.Now())
	w.mu.Unlock()
	return nil
}

// Write sends one packet: the client makes one call for each, one after the other.
func (w *wire) Write(b []byte) (int, error) {
	request, operation := int32(sessionRequest), int32(0)
	if w.shaken {
		request = int32(binary.BigEndian.Uint32(b[lengthBytes:]))
		operation = int32(binary.BigEndian.Uint32(b[lengthBytes+4:]))
	}
	// The client sets its watches again by itself.
	if err := w.of.sends(request > 0 && operation != setWatches); err != nil {
		return 0, err
	}
	w.mu.Lock()
	if w.add(request, lifetime.Now()) && w.shaken {
		_ = w.Conn.SetReadDeadline(deadline(w.silence()))
	}
	w.mu.Unlock()
	return w.Conn.Write(b)
}
