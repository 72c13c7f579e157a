package zk

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
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

// A wire reads along, in whatever pieces the answers come.
func TestWireReadsAlong(t *testing.T) {
	for _, piece := range []int{1, 3, 7, 1000} {
		server, far := net.Pipe()
		var greeted greeting
		var zxids []int64
		w, err := newWire(far, 1000, time.Minute, time.Minute, func(g greeting) { greeted = g }, func(z int64) { zxids = append(zxids, z) }, func(error) {})
		if err != nil {
			t.Fatal(err)
		}
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
		if got != len(stream) || greeted != (greeting{4 * time.Second, 42, greeted.took}) || !slices.Equal(zxids, []int64{1 << 40}) {
			t.Errorf("pieces of %d: %d of %d bytes, %v, transactions %v", piece, got, len(stream), greeted, zxids)
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
		var trouble error
		w, err := newWire(far, 1000, time.Minute, time.Minute, func(greeting) {}, func(int64) {}, func(err error) { trouble = err })
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = server.Write(b) }()
		for err == nil {
			_, err = w.Read(make([]byte, 64))
		}
		if foreign := name != "too long"; errors.Is(err, errForeign) != foreign || errors.Is(trouble, errForeign) != foreign {
			t.Errorf("%s: %v, and the trouble is %v", name, err, trouble)
		}
		_ = server.Close()
		_ = far.Close()
	}
}

// A server that says nothing is given up.
func TestWireDeadline(t *testing.T) {
	server, far := net.Pipe()
	defer server.Close()
	var trouble error
	w, err := newWire(far, 1000, time.Millisecond, time.Minute, func(greeting) {}, func(int64) {}, func(err error) { trouble = err })
	if err != nil {
		t.Fatal(err)
	}
	// The client would wait for much longer.
	if err := w.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Read(make([]byte, 4)); err == nil || trouble == nil {
		t.Errorf("read %d bytes, %v, and the trouble is %v", n, err, trouble)
	}
}

// A connection on which anything arrives is kept, and one that owes nothing; one that
// owes an answer and is silent is not.
func TestWireSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, far := net.Pipe()
		defer server.Close()
		var trouble error
		w, err := newWire(far, 1000, time.Minute, 15*time.Second, func(greeting) {}, func(int64) {}, func(err error) { trouble = err })
		if err != nil {
			t.Fatal(err)
		}
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
		if err, took := <-ended, time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(trouble, errSilence) || took != 15*time.Second+lastLook {
			t.Errorf("given up after %v: %v, and the trouble is %v; want that after as long as the session lasts: a round trip took 8 s", took, err, trouble)
		}
	})
}
