package zktest

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"
)

// Operations of the protocol, for [Proxy.Before], [Proxy.After] and [Proxy.Rob].
const (
	OpExists = 3
	OpGet    = 4
	OpSet    = 5
	OpMulti  = 14

	opPing  = 11
	opClose = -11
)

// Proxy forwards connections to a server and knows the protocol. It ends with the
// test.
type Proxy struct {
	Addr     string // host:port to connect to
	target   string
	listener net.Listener
	done     sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	ended  bool
	before hook
	after  hook

	quiet  time.Duration // answers wait until the client was quiet for so long
	spoke  time.Time     // when the client last sent a request
	waves  int
	closed bool // an answer was passed on since the last request
}

// hook is what is done once at a request of an operation.
type hook struct {
	op   int32
	n    int                // it is the n-th of these from now on, counted from 1
	call func() (lost bool) // whether its answer is lost; nil: there is nothing to do
}

// meets returns what is to be done at a request of an operation; nil: nothing.
func (h *hook) meets(op int32) (call func() bool) {
	if h.call == nil || op != h.op {
		return nil
	}
	if h.n--; h.n > 0 {
		return nil
	}
	call, h.call = h.call, nil
	return call
}

// StartProxy runs a proxy for the server at the address target.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, listener: l, conns: map[net.Conn]struct{}{}}
	p.done.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		p.ended = true
		for c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.done.Wait()
	})
	return p
}

// Before calls f before the next request of an operation is passed on.
func (p *Proxy) Before(op int32, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = hook{op, 1, func() bool { f(); return false }}
}

// After calls f when the n-th request from now on of an operation, counted from 1, was
// carried out, before its answer is passed on.
func (p *Proxy) After(op int32, n int, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = hook{op, n, func() bool { f(); return false }}
}

// Rob has the next request of an operation carried out and its answer lost: the connection is
// cut instead. Robbed is closed then.
func (p *Proxy) Rob(op int32) (robbed <-chan struct{}) {
	c := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = hook{op, 1, func() bool { close(c); return true }}
	return c
}

// Measure begins to count waves: requests that are sent without waiting for an
// answer in between are one, so it is the number of round trips. For that, answers
// are held back until the client has been quiet for some time. A client that is
// slower than that counts for more waves than it should, never for less.
func (p *Proxy) Measure(quiet time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet, p.waves, p.closed = quiet, 0, true
}

// Waves returns how many there were since Measure.
func (p *Proxy) Waves() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waves
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		if p.ended {
			_ = client.Close()
		}
		p.mu.Unlock()
		due := new(answers)
		p.done.Go(func() {
			p.relay(client, server, func(n int, b []byte) bool { p.request(n, b, due); return true })
		})
		p.done.Go(func() {
			p.relay(server, client, func(n int, b []byte) bool { return p.answer(n, b, due) })
		})
	}
}

// answers is what to do at the answers to requests of one connection, by their numbers.
type answers struct {
	mu  sync.Mutex
	due map[uint32]func() (lost bool)
}

func (a *answers) add(request uint32, call func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = map[uint32]func() bool{request: call}
}

func (a *answers) take(request uint32) (call func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	call = a.due[request]
	delete(a.due, request)
	return call
}

// relay passes packets on, for as long as pass says so; n counts them from 0.
func (p *Proxy) relay(from, to net.Conn, pass func(n int, packet []byte) bool) {
	for n := 0; ; n++ {
		b, err := readPacket(from)
		if err != nil || !pass(n, b) {
			break
		}
		if _, err := to.Write(packet(b)); err != nil {
			break
		}
	}
	_ = from.Close()
	_ = to.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, from)
}

// request looks at a packet of the client. The first is the request for a session, and has no
// operation.
func (p *Proxy) request(n int, b []byte, due *answers) {
	number, op := binary.BigEndian.Uint32(b), int32(binary.BigEndian.Uint32(b[4:]))
	if n == 0 {
		op = 0
	}
	p.mu.Lock()
	before, after := p.before.meets(op), p.after.meets(op)
	if op != opPing && op != opClose {
		p.spoke = time.Now()
		if p.closed {
			p.waves++
			p.closed = false
		}
	}
	p.mu.Unlock()
	if before != nil {
		before()
	}
	if after != nil {
		due.add(number, after)
	}
}

// answer looks at a packet of the server, and reports whether it is passed on.
func (p *Proxy) answer(n int, b []byte, due *answers) bool {
	p.awaitQuiet()
	if n == 0 {
		return true
	}
	call := due.take(binary.BigEndian.Uint32(b))
	return call == nil || !call()
}

// awaitQuiet waits until the client was quiet for long enough, and ends its wave.
func (p *Proxy) awaitQuiet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.quiet > 0 && time.Since(p.spoke) < p.quiet {
		wait := time.NewTimer(p.quiet - time.Since(p.spoke))
		p.mu.Unlock()
		<-wait.C
		p.mu.Lock()
	}
	p.closed = true
}
