package zktest

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"
)

// Operations of the protocol, for [Proxy.Rob], [Proxy.Before] and [Proxy.After].
const (
	OpCreate = 1
	OpExists = 3
	OpGet    = 4
	OpSet    = 5
	OpMulti  = 14

	opPing  = 11
	opClose = -11

	pingRequest = -2 // is the number of every ping
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
	refuse bool

	op    int32 // of the request to rob
	after int   // of these to let through first; negative: rob none
	all   bool  // cut off everything from then on
	stole int

	beforeOp int32
	before   func() // called once, before a request of beforeOp is passed on

	afterOp int32
	afterN  int    // of these to let through first
	later   func() // called once, before the answer to a request of afterOp is passed on

	quiet  time.Duration // answers wait until the client was quiet for so long
	spoke  time.Time     // when the client last sent a request
	waves  int
	closed bool // an answer was passed on since the last request

	pinged int // answers to pings that were passed on

	left    int    // waves until between is called
	between func() // called once, before a wave is passed on; nil: nothing is
	came    bool   // it was called
}

// StartProxy runs a proxy for the server at the address target.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, listener: l, conns: map[net.Conn]struct{}{}, after: -1}
	p.done.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.Refuse()
		p.done.Wait()
	})
	return p
}

// Rob has the n-th request from now on of an operation, counted from 1, carried out
// and its answer lost: the connection is cut instead. With all, there are no
// connections after that until Heal.
func (p *Proxy) Rob(op int32, n int, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.op, p.after, p.all, p.stole = op, n-1, all, 0
}

// Before calls f before the next request of an operation is passed on.
func (p *Proxy) Before(op int32, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beforeOp, p.before = op, f
}

// After calls f when the n-th request from now on of an operation, counted from 1, was
// carried out, before its answer is passed on.
func (p *Proxy) After(op int32, n int, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.afterOp, p.afterN, p.later = op, n-1, f
}

// Refuse cuts all connections, and new ones.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
	p.cut()
}

// Heal lets everything through again, and returns how many answers were robbed.
func (p *Proxy) Heal() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after, p.refuse = -1, false
	return p.stole
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

// Pinged returns how many answers to pings were passed on.
func (p *Proxy) Pinged() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pinged
}

// BeforeWave calls f before the n-th wave from now on is passed on, counted from 1, and
// reports whether there were so many. The request for a session is one.
func (p *Proxy) BeforeWave(n int, f func()) (done func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.between, p.came, p.closed = n, f, false, true
	return func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.between = nil
		return p.came
	}
}

// cut ends all connections. The lock is held.
func (p *Proxy) cut() {
	for c := range p.conns {
		_ = c.Close()
	}
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
		if p.refuse {
			p.cut()
		}
		p.mu.Unlock()
		robbed, called := make(chan int32, 1), make(chan call, 1)
		p.done.Go(func() {
			p.relay(client, server, func(n int, b []byte) bool {
				if n > 0 {
					p.expect(b, called)
				}
				return p.request(n, b, robbed)
			})
		})
		p.done.Go(func() {
			var mark int32 = -100 // no request has it
			due := call{request: mark}
			p.relay(server, client, func(n int, b []byte) bool {
				select {
				case mark = <-robbed:
				default:
				}
				select {
				case due = <-called:
				default:
				}
				if n > 0 && int32(binary.BigEndian.Uint32(b)) == due.request {
					due.f()
				}
				return p.answer(n, b, mark)
			})
		})
	}
}

// call is what is called before the answer to a request is passed on.
type call struct {
	request int32
	f       func()
}

// expect looks whether a packet of the client is the one that [Proxy.After] is about.
func (p *Proxy) expect(b []byte, called chan<- call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.later == nil || int32(binary.BigEndian.Uint32(b[4:])) != p.afterOp {
		return
	}
	if p.afterN == 0 {
		called <- call{int32(binary.BigEndian.Uint32(b)), p.later}
		p.later = nil
	}
	p.afterN--
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

// request looks at a packet of the client.
func (p *Proxy) request(n int, b []byte, robbed chan<- int32) bool {
	op := int32(binary.BigEndian.Uint32(b[4:]))
	p.mu.Lock()
	if f := p.before; f != nil && n > 0 && op == p.beforeOp {
		p.before = nil
		p.mu.Unlock()
		f()
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	if n > 0 && (op == opPing || op == opClose) {
		return true
	}
	p.spoke = time.Now()
	if p.closed {
		p.waves++
		p.closed = false
		if p.left--; p.left == 0 && p.between != nil {
			f := p.between
			p.between, p.came = nil, true
			p.mu.Unlock()
			f()
			p.mu.Lock()
		}
	}
	if n > 0 && op == p.op && p.after >= 0 {
		if p.after == 0 {
			robbed <- int32(binary.BigEndian.Uint32(b))
		}
		p.after--
	}
	return true
}

// answer looks at a packet of the server. Mark is the number of the request whose
// answer is to be lost.
func (p *Proxy) answer(n int, b []byte, mark int32) bool {
	for {
		p.mu.Lock()
		wait := p.quiet - time.Since(p.spoke)
		if p.quiet == 0 || wait <= 0 {
			break
		}
		p.mu.Unlock()
		timer := time.NewTimer(wait)
		<-timer.C
	}
	defer p.mu.Unlock()
	if n > 0 && int32(binary.BigEndian.Uint32(b)) == pingRequest {
		p.pinged++
	}
	p.closed = true
	if n > 0 && int32(binary.BigEndian.Uint32(b)) == mark {
		p.stole++
		if p.all {
			p.refuse = true
			p.cut()
		}
		return false
	}
	return true
}
