package zk

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// framed puts the length before a packet.
func framed(n uint32, b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, n), b...) }

// hello is a server's answer to the request for a session.
func hello(timeout time.Duration, session int64) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, uint64(session))
	return append(b, make([]byte, 21)...)
}

// seen is what a wire has told.
type seen struct {
	greeting greeting
	trouble  error
	requests int
	mute     error
}

func (s *seen) greeted(g greeting) { s.greeting = g }
func (s *seen) failed(err error)   { s.trouble = err }

func (s *seen) sends(request bool) error {
	if request {
		s.requests++
	}
	return s.mute
}

// newWire watches conn for a session that lasts ttl.
func newWire(conn net.Conn, ttl time.Duration) (*wire, *seen) {
	s := new(seen)
	return &wire{Conn: conn, of: s, limit: 1000, pending: pending{ttl: ttl}}, s
}

// A wire reads along, in whatever pieces the answers come.
func TestWireReadsAlong(t *testing.T) {
	for _, piece := range []int{1, 3, 7, 1000} {
		server, far := net.Pipe()
		w, told := newWire(far, time.Minute)
		stream := framed(37, hello(4*time.Second, 42))
		for _, a := range []struct {
			request int32 // or a ping
			zxid    int64
		}{{5, 7}, {5, -1}, {-2, 1 << 40}} {
			answer := binary.BigEndian.AppendUint32(nil, uint32(a.request))
			answer = binary.BigEndian.AppendUint64(answer, uint64(a.zxid))
			stream = append(stream, framed(40, append(answer, make([]byte, 28)...))...)
		}
		go func() { _, _ = server.Write(stream) }()
		got := 0
		for got < len(stream) {
			n, err := w.Read(make([]byte, piece))
			if got += n; err != nil {
				t.Errorf("pieces of %d: %v", piece, err)
				break
			}
		}
		_ = server.Close()
		if got != len(stream) || told.greeting != (greeting{4 * time.Second, 42, told.greeting.took}) {
			t.Errorf("pieces of %d: %d of %d bytes, %v", piece, got, len(stream), told)
		}
	}
}

// What is no answer of ZooKeeper is refused before the client believes its length.
func TestWireRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"HTTP":            []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"Redis":           []byte("-ERR unknown command\r\n"),
		"empty packet":    framed(0, nil),
		"negative length": framed(1<<31+5, nil),
		"wrong version":   framed(37, append([]byte{0, 0, 0, 9}, hello(time.Second, 1)[4:]...)),
		"too long":        append(framed(37, hello(time.Second, 1)), framed(2000, nil)...),
	} {
		server, far := net.Pipe()
		w, told := newWire(far, time.Minute)
		go func() { _, _ = server.Write(b) }()
		var err error
		for err == nil {
			_, err = w.Read(make([]byte, 64))
		}
		if foreign := name != "too long"; errors.Is(err, errForeign) != foreign || errors.Is(told.trouble, errForeign) != foreign {
			t.Errorf("%s: %v, and the trouble is %v", name, err, told.trouble)
		}
		_ = server.Close()
		_ = far.Close()
	}
}

// A server that says nothing is given up.
func TestWireDeadline(t *testing.T) {
	server, far := net.Pipe()
	defer server.Close()
	w, told := newWire(far, time.Minute)
	if err := w.SetDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	// The client would wait for much longer.
	if err := w.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Read(make([]byte, 4)); err == nil || told.trouble == nil {
		t.Errorf("read %d bytes, %v, and the trouble is %v", n, err, told.trouble)
	}
}

// A connection on which anything arrives is kept, and one that owes nothing; one that
// owes an answer and is silent is not.
func TestWireSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, far := net.Pipe()
		defer server.Close()
		w, told := newWire(far, 15*time.Second)
		ended := make(chan error, 1)
		go func() {
			for {
				if _, err := w.Read(make([]byte, 64)); err != nil {
					ended <- err
					return
				}
			}
		}()
		go func() { _, _ = io.Copy(io.Discard, server) }()
		request := func(n int32) {
			if _, err := w.Write(framed(8, binary.BigEndian.AppendUint64(nil, uint64(uint32(n))<<32))); err != nil {
				t.Error(err)
			}
		}
		answer := func(n int32) {
			if _, err := server.Write(framed(16, append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, 12)...))); err != nil {
				t.Error(err)
			}
		}
		request(0) // for a session
		if _, err := server.Write(framed(37, hello(15*time.Second, 1))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		request(1)
		time.Sleep(4 * time.Second)
		answer(-2) // to a ping
		time.Sleep(4 * time.Second)
		answer(1)
		time.Sleep(time.Hour)
		select {
		case err := <-ended:
			t.Fatalf("a connection that was alive was given up: %v", err)
		default:
		}
		began := time.Now()
		request(2)
		if err, took := <-ended, time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(told.trouble, errSilence) || took != 15*time.Second {
			t.Errorf("given up after %v: %v, and the trouble is %v; want that after as long as the session lasts: a round trip took 8 s", took, err, told.trouble)
		}
	})
}

// What a wire sends is told before: requests of the session are, other packets are not.
// It shows credentials before them, and sends nothing more when it is told so.
func TestWireSends(t *testing.T) {
	server, far := net.Pipe()
	defer server.Close()
	w, told := newWire(far, time.Minute)
	w.login = loginPacket("ann", "secret")
	if err := server.SetDeadline(time.Now().Add(30 * time.Second)); err != nil { // if less is sent than wanted
		t.Fatal(err)
	}
	packet := func(request, operation int32) []byte {
		return framed(8, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(request)), uint32(operation)))
	}
	const ping, get, setWatches = 11, 4, 101
	sent := make(chan error, 1)
	go func() {
		_, err := w.Write(packet(0, 0)) // the request for a session
		if err == nil {
			_, err = w.Read(make([]byte, 64)) // its answer
		}
		for _, p := range [][]byte{packet(-2, ping), packet(1, get), packet(2, setWatches), packet(3, get)} {
			if err == nil {
				_, err = w.Write(p)
			}
		}
		sent <- err
	}()
	want := "\xff\xff\xff\xfc\x00\x00\x00\x64\x00\x00\x00\x00\x00\x00\x00\x06digest\x00\x00\x00\x0aann:secret"
	got := make([]byte, 12+lengthBytes+len(want)+4*12)
	if _, err := io.ReadFull(server, got[:12]); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write(framed(37, hello(time.Minute, 1))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(server, got[12:]); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil || string(got[12+lengthBytes:][:len(want)]) != want || told.requests != 2 {
		t.Errorf("%q was sent, %v, with %d requests; want the credentials and 2", got, err, told.requests)
	}
	told.mute = errSilent
	if n, err := w.Write(packet(4, get)); n != 0 || !errors.Is(err, errSilent) {
		t.Errorf("a wire that is not to send anything has sent %d bytes: %v", n, err)
	}
}
