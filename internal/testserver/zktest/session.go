package zktest

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// KillSession ends a session on the server, as the servers do when they have not
// heard of its client for its timeout, and returns when its ephemeral nodes are gone.
// The client notices when it connects again.
//
// It does what the documentation of ZooKeeper recommends for tests: it opens the
// session a second time and closes it. The password that this needs is what the server
// computes from the session's number.
func (s *Server) KillSession(tb testing.TB, id int64) {
	tb.Helper()
	proctest.Eventually(tb, readyTime, fmt.Sprintf("session %#x ends", id), func() bool {
		return killSession(s.Addr, id) == nil // otherwise its client was faster to connect again
	})
}

// Sessions returns the sessions that a single server has.
func (s *Server) Sessions(tb testing.TB) []int64 {
	tb.Helper()
	var dump []byte
	proctest.Eventually(tb, readyTime, "the server lists its sessions", func() (ok bool) {
		var err error
		dump, err = s.ask("dump")
		return err == nil
	})
	tracked, _, _ := strings.Cut(string(dump), "ephemeral nodes dump")
	var all []int64
	for line := range strings.Lines(tracked) {
		if hex, ok := strings.CutPrefix(strings.TrimSpace(line), "0x"); ok {
			id, err := strconv.ParseUint(hex, 16, 64)
			if err != nil {
				tb.Fatalf("the server says %q of its sessions", line)
			}
			all = append(all, int64(id))
		}
	}
	return all
}

// Operations of the protocol, for [Asks].
const (
	OpExists = 3
	OpSet    = 5
	OpMulti  = 14

	opClose = -11
)

// Asks returns a function that reports whether a client asks for an operation in what it sends.
func Asks(op int32) func(sent []byte) bool {
	return func(sent []byte) bool {
		for len(sent) >= 4+shortest {
			length, number := binary.BigEndian.Uint32(sent), binary.BigEndian.Uint32(sent[4:])
			// The request for a session has a version, which is 0, where others have their number.
			if number != 0 && int32(binary.BigEndian.Uint32(sent[8:])) == op {
				return true
			}
			sent = sent[min(len(sent), 4+int(length)):]
		}
		return false
	}
}

func killSession(addr string, id int64) error {
	conn, err := dial(addr, readyTime)
	if err != nil {
		return err
	}
	defer conn.Close()
	// The request for a session: version, last transaction, timeout, session, password.
	hello := binary.BigEndian.AppendUint32(nil, 0)
	hello = binary.BigEndian.AppendUint64(hello, 0)
	hello = binary.BigEndian.AppendUint32(hello, 10_000)
	hello = binary.BigEndian.AppendUint64(hello, uint64(id))
	hello = binary.BigEndian.AppendUint32(hello, passwordBytes)
	hello = append(hello, passwordOf(id)...)
	// And that to close it, at once: its client connects again as soon as it is cut off,
	// which cuts this connection off.
	op := int32(opClose)
	bye := binary.BigEndian.AppendUint32(nil, 1)
	bye = binary.BigEndian.AppendUint32(bye, uint32(op))
	if _, err := conn.Write(append(packet(hello), packet(bye)...)); err != nil {
		return err
	}
	answer, err := readPacket(conn)
	switch {
	case err != nil:
		return err
	case len(answer) < 16:
		return fmt.Errorf("%d bytes are no answer to the request for a session", len(answer))
	}
	if got := int64(binary.BigEndian.Uint64(answer[8:])); got != id {
		return nil // it had ended already
	}
	_, err = readPacket(conn)
	return err
}

// packet puts the length before a packet.
func packet(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// readPacket reads one packet, without its length.
func readPacket(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < shortest || n > 64<<20 {
		return nil, fmt.Errorf("a packet of %d bytes", n)
	}
	packet := make([]byte, n)
	_, err := io.ReadFull(r, packet)
	return packet, err
}

const (
	// shortest is the length of a request to close a session: its number and its kind.
	shortest      = 8
	passwordBytes = 16
	// superSecret is the constant of that name in ZooKeeperServer.java.
	superSecret = 0xB3415C00
)

// passwordOf is the password that a server has made for a session: 16 bytes of Java's
// random generator with a seed made of the session's number.
func passwordOf(session int64) []byte {
	const multiplier, mask = 0x5DEECE66D, 1<<48 - 1
	state := (uint64(session^superSecret) ^ multiplier) & mask
	var password []byte
	for len(password) < passwordBytes {
		state = (state*multiplier + 0xB) & mask
		password = binary.LittleEndian.AppendUint32(password, uint32(state>>16))
	}
	return password
}
