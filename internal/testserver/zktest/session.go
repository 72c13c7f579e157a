package zktest

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

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
	// Both requests are sent at once: the client of the session connects again as soon as it is cut
	// off, which cuts this connection off.
	request, err := binary.Append(nil, binary.BigEndian, reopening{
		Length: 44, Timeout: 10_000, Session: id, PasswordBytes: passwordBytes,
		Password: passwordOf(id), CloseLength: 8, CloseNumber: 1, CloseOp: -11,
	})
	if err != nil {
		tb.Fatal(err)
	}
	proctest.Eventually(tb, readyTime, fmt.Sprintf("session %#x ends", id), func() bool {
		// The server closes the connection behind its answers; what has come before an error counts.
		answer, _ := s.ask(request, readyTime)
		if len(answer) < 20 {
			return false
		}
		first, session := binary.BigEndian.Uint32(answer), binary.BigEndian.Uint64(answer[12:])
		// It had ended already; or it is closed, unless its client was faster to connect again.
		return int64(session) != id || len(answer) > 4+int(first)
	})
}

// reopening is the request for a session that exists, and that to close it.
type reopening struct {
	Length, Version int32
	LastTransaction int64
	Timeout         int32
	Session         int64
	PasswordBytes   int32
	Password        [passwordBytes]byte

	CloseLength, CloseNumber, CloseOp int32
}

// Sessions returns the sessions that a single server has.
func (s *Server) Sessions(tb testing.TB) []int64 {
	tb.Helper()
	var dump []byte
	proctest.Eventually(tb, readyTime, "the server lists its sessions", func() (ok bool) {
		var err error
		dump, err = s.ask([]byte("dump"), time.Second)
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

const (
	passwordBytes = 16
	// superSecret is the constant of that name in ZooKeeperServer.java.
	superSecret = 0xB3415C00
)

// passwordOf is the password that a server has made for a session: 16 bytes of Java's
// random generator with a seed made of the session's number.
func passwordOf(session int64) (password [passwordBytes]byte) {
	const multiplier, mask = 0x5DEECE66D, 1<<48 - 1
	state := (uint64(session^superSecret) ^ multiplier) & mask
	for i := 0; i < passwordBytes; i += 4 {
		state = (state*multiplier + 0xB) & mask
		binary.LittleEndian.PutUint32(password[i:], uint32(state>>16))
	}
	return password
}
