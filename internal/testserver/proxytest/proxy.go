// Package proxytest has a TCP proxy that misbehaves on demand, for tests of what a
// network does to a program and its server.
package proxytest

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards connections to a server. It ends with the test.
type Proxy struct {
	Addr     string // host:port to connect to
	listener net.Listener
	done     sync.WaitGroup

	mu      sync.Mutex
	target  string           // where new connections go
	loses   [2]bool          // requests, answers
	refuses bool             // connections are cut, and new ones too
	delays  [2]time.Duration // of requests, of answers
	rob     func(request []byte) bool
	every   int     // of the requests that rob is true of, the reply to one in so many is lost
	asked   int     // how many such requests were answered
	robbed  int     // how many replies were lost
	waiting *Held   // waits for its request; nil: none does
	last    *ending // waits for its request; nil: none does
	made    int     // how many connections there were
	heard   bool    // an answer was passed on since the last request
	trips   int
	conns   map[*pair]struct{}
	kept    map[*pair]struct{} // their clients are cut off, and a Held has their request
}

// direction is the way of some bytes.
type direction int

const (
	requests direction = iota
	answers
)

// pair is a connection and its continuation. Its other fields are guarded by the proxy's
// lock.
type pair struct {
	client, server net.Conn
	asked          bool  // the reply to a request may be lost, see Rob
	robbed         bool  // a reply is being lost
	held           *Held // has the request; nil: none
	forgotten      bool  // nothing gets through any more, not even an end, see Forget
}

// Start runs a proxy for the server at the address target.
func Start(tb testing.TB, target string) *Proxy {
	tb.Helper()
	return StartAt(tb, "127.0.0.1:0", target)
}

// StartAt runs a proxy at an address for the server at the address target.
func StartAt(tb testing.TB, addr, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{
		Addr: l.Addr().String(), target: target, listener: l, conns: map[*pair]struct{}{},
		kept: map[*pair]struct{}{},
	}
	p.done.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.Refuse()
		p.do(func() {
			for c := range p.kept {
				c.cut()
			}
		})
		p.done.Wait()
	})
	return p
}

// do holds the lock while something is done.
func (p *Proxy) do(something func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	something()
}

// each holds the lock while something is done with each connection.
func (p *Proxy) each(something func(*pair)) {
	p.do(func() {
		for c := range p.conns {
			something(c)
		}
	})
}

// Swallow lets requests through from now on, and loses every byte of the answers.
func (p *Proxy) Swallow() { p.set([2]bool{answers: true}, false) }

// Deafen lets replies through from now on, and loses every byte of the requests.
func (p *Proxy) Deafen() { p.set([2]bool{requests: true}, false) }

// Hang loses everything from now on, in both directions, and leaves connections open,
// as a network does that drops packets.
func (p *Proxy) Hang() { p.set([2]bool{true, true}, false) }

// Refuse cuts all connections, and new ones as soon as they are made.
func (p *Proxy) Refuse() { p.set([2]bool{}, true) }

// Restore forwards everything again. Connections on which something was lost are cut,
// because what follows would make no sense on them. Delays stay, and what a [Held] has.
func (p *Proxy) Restore() {
	p.set([2]bool{}, false)
	p.do(func() { p.rob, p.waiting, p.last = nil, nil, nil })
}

// set changes what is lost, and cuts connections of which something was.
func (p *Proxy) set(loses [2]bool, refuses bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nothing := [2]bool{}
	if refuses || loses == nothing && (p.refuses || p.loses != nothing) {
		for c := range p.conns {
			c.cut()
		}
	}
	p.loses, p.refuses = loses, refuses
}

// Reset cuts all connections as a machine does that knows nothing of them: with a TCP
// reset. New ones are forwarded.
func (p *Proxy) Reset() { p.each(func(c *pair) { reset(c.client, c.server) }) }

// Forget loses everything on the connections that there are from now on, in both directions, their
// ends as well, and forwards new ones: as a firewall that was restarted, or a machine in between
// that was replaced. Neither side is told. Refuse ends such connections; Restore does not.
func (p *Proxy) Forget() { p.each(func(c *pair) { c.forgotten = true }) }

// Lead has new connections go to another server from now on, as those to an address do that has
// moved. Those that there are stay where they are.
func (p *Proxy) Lead(target string) { p.do(func() { p.target = target }) }

// Delay has every answer take so much longer from now on. Connections stay as they are,
// and many answers can be under way at a time.
func (p *Proxy) Delay(d time.Duration) { p.do(func() { p.delays[answers] = d }) }

// DelayRequests is Delay for requests.
func (p *Proxy) DelayRequests(d time.Duration) { p.do(func() { p.delays[requests] = d }) }

// Connections returns how many connections were made so far.
func (p *Proxy) Connections() (n int) { p.do(func() { n = p.made }); return n }

// Trips returns how many round trips there were since the last call: how often something was sent
// after an answer had come, or as the first. Where answers are delayed, requests that are sent
// without waiting for each other's answer are one.
func (p *Proxy) Trips() (n int) {
	p.do(func() { n, p.trips, p.heard = p.trips, 0, true })
	return n
}

// accept takes connections until the listener is closed. Neither a server that is slow to
// answer nor a want of file descriptors ends that: a network has no such end.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(tryAgain)
		default:
			p.done.Go(func() { p.connect(client) })
		}
	}
}

// tryAgain is the pause after a connection that could not be taken.
const tryAgain = 10 * time.Millisecond

// connect makes the connection to the server that a client's goes on with, and forwards between
// the two until one of them ends.
func (p *Proxy) connect(client net.Conn) {
	var target string
	p.do(func() { target = p.target })
	server, err := net.Dial("tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &pair{client: client, server: server}
	p.do(func() {
		if p.refuses {
			c.cut()
			return
		}
		p.conns[c] = struct{}{}
		p.made++
	})
	p.done.Go(func() { p.copy(c, requests, c.client, c.server) })
	p.done.Go(func() { p.copy(c, answers, c.server, c.client) })
}

// underWay is how many chunks may be under way before the sender has to wait. Each connection has
// room for as many, and a crowd thousands of connections.
const underWay = 2_000

// copy passes on what gets through when it is due, and loses the rest. What cannot be passed on is
// dropped: the connection has ended then, which its reader notices.
func (p *Proxy) copy(c *pair, d direction, from, to net.Conn) {
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	chunks, written := make(chan chunk, underWay), make(chan struct{})
	p.done.Go(func() {
		defer close(written)
		for chunk := range chunks {
			time.Sleep(time.Until(chunk.due))
			p.do(func() { p.heard = p.heard || d == answers })
			_, _ = to.Write(chunk.bytes)
		}
	})
	buf := make([]byte, 64<<10)
	for err := error(nil); err == nil; {
		var n int
		var delay time.Duration
		if n, err = from.Read(buf); n > 0 {
			p.do(func() { n, delay = p.passes(c, d, buf[:n]), p.delays[d] })
			chunks <- chunk{bytes.Clone(buf[:n]), time.Now().Add(delay)}
		}
	}
	close(chunks)
	<-written
	p.do(func() { p.ended(c, d) })
}

// passes returns how many bytes get through. The lock is held.
func (p *Proxy) passes(c *pair, d direction, b []byte) int {
	lost := c.forgotten || p.loses[d]
	if d == answers && !lost {
		lost = p.steals(c, b)
	} else if !lost {
		if p.heard {
			p.trips++
		}
		p.heard = false
		c.asked = c.asked || p.rob != nil && p.rob(b)
		lost = p.caught(c, b)
	}
	if lost {
		return 0
	}
	return len(b) - p.forgets(c, d, b)
}

// ended cuts a connection of which one direction has ended, unless nothing of that
// direction gets through, not even its end. The lock is held.
func (p *Proxy) ended(c *pair, d direction) {
	if c.forgotten || c.held != nil && d == requests {
		return // the other end is not to notice
	}
	if _, open := p.conns[c]; open && p.loses[d] {
		return // Restore or Refuse cuts it
	}
	c.cut()
	delete(p.conns, c)
	delete(p.kept, c)
}

func (c *pair) cut() {
	_ = c.client.Close()
	_ = c.server.Close()
}

// reset closes connections in such a way that their other ends get an error, and not the
// end of the data.
func reset(conns ...net.Conn) {
	for _, c := range conns {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // fails if it is closed
		}
		_ = c.Close()
	}
}
