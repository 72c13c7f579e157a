package zktest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Slow forwards connections to a server and delays what the server sends, as a long
// way would: what is sent together arrives together. It ends with the test.
type Slow struct {
	Addr string // host:port to connect to

	mu       sync.Mutex
	delay    time.Duration
	accepted int
	conns    []net.Conn
	over     bool
}

// parcel is what arrives at a moment.
type parcel struct {
	b  []byte
	at time.Time
}

// StartSlow runs a forwarder for the server at the address target, without a delay.
func StartSlow(tb testing.TB, target string) *Slow {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Slow{Addr: l.Addr().String()}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil || !s.add(client, server) {
				_ = client.Close()
				continue
			}
			way := make(chan parcel, 1<<12)
			done.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
			done.Go(func() { s.send(server, way) })
			done.Go(func() { deliver(client, way) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		s.over = true
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		done.Wait()
	})
	return s
}

// add takes note of a connection, unless the test is over.
func (s *Slow) add(client, server net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		_ = server.Close()
		return false
	}
	s.accepted++
	s.conns = append(s.conns, client, server)
	return true
}

// send puts on its way what the server sends.
func (s *Slow) send(server net.Conn, way chan<- parcel) {
	defer close(way)
	for {
		b := make([]byte, 64<<10)
		n, err := server.Read(b)
		if err != nil {
			return
		}
		s.mu.Lock()
		at := time.Now().Add(s.delay)
		s.mu.Unlock()
		way <- parcel{b[:n], at}
	}
}

// deliver has it arrive.
func deliver(client net.Conn, way <-chan parcel) {
	defer client.Close()
	gone := false
	for p := range way {
		if gone {
			continue
		}
		timer := time.NewTimer(time.Until(p.at))
		<-timer.C
		_, err := client.Write(p.b)
		gone = err != nil
	}
}

// Delay sets by how much what the server sends from now on is delayed.
func (s *Slow) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Accepted is how many connections there were.
func (s *Slow) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}
