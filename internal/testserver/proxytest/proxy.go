// Package proxytest has a TCP proxy that misbehaves on demand, for tests of what a
// network does to a program and its server.
package proxytest

import (
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
	target  string // where new connections go
	mode    mode
	delays  [2]time.Duration // of requests and of answers
	rob     func(request []byte) bool
	every   int   // of the requests that rob is true of, the reply to one in so many is lost
	asked   int   // how many such requests were answered
	robbed  int   // how many replies were lost
	waiting *Held // waits for its request; nil: none does
	made    int   // how many connections there were
	conns   map[*pair]struct{}
	kept    map[*pair]struct{} // their clients are cut off, and a Held has their request
}

// direction is the way of some bytes.
type direction int

const (
	requests direction = iota
	answers
)

// mode is what the proxy does with what it gets.
type mode int

const (
	forward mode = iota
	swallow      // requests get through, replies do not
	deafen       // replies get through, requests do not
	hang         // nothing gets through, and connections stay
	refuse       // connections are cut, and new ones too
)

// loses reports whether bytes of a direction are lost, and with them the end of a
// connection.
func (m mode) loses(d direction) bool {
	switch m {
	case swallow:
		return d == answers
	case deafen:
		return d == requests
	case hang:
		return true
	}
	return false
}

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
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
		p.set(refuse)
		p.drop()
		p.done.Wait()
	})
	return p
}

// Swallow lets requests through from now on, and loses every byte of the answers.
func (p *Proxy) Swallow() { p.set(swallow) }

// Deafen lets replies through from now on, and loses every byte of the requests.
func (p *Proxy) Deafen() { p.set(deafen) }

// Hang loses everything from now on, in both directions, and leaves connections open,
// as a network does that drops packets.
func (p *Proxy) Hang() { p.set(hang) }

// Refuse cuts all connections, and new ones as soon as they are made.
func (p *Proxy) Refuse() { p.set(refuse) }

// Restore forwards everything again. Connections on which something was lost are cut,
// because what follows would make no sense on them. Delays stay, and what a [Held] has.
func (p *Proxy) Restore() {
	p.set(forward)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rob, p.waiting = nil, nil
}

// Delay has every answer take so much longer from now on. Connections stay as they are,
// and many answers can be under way at a time.
func (p *Proxy) Delay(d time.Duration) { p.slow(answers, d) }

// DelayRequests is Delay for requests.
func (p *Proxy) DelayRequests(d time.Duration) { p.slow(requests, d) }

func (p *Proxy) slow(dir direction, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delays[dir] = d
}

// Connections returns how many connections were made so far.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := m == refuse || m == forward && p.mode != forward
	p.mode = m
	if cut {
		for c := range p.conns {
			c.cut()
		}
	}
}

func (p *Proxy) current() mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
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
		case p.current() == refuse:
			_ = client.Close()
		default:
			p.done.Go(func() { p.connect(client) })
		}
	}
}

// tryAgain is the pause after a connection that could not be taken.
const tryAgain = 10 * time.Millisecond

// connect makes the connection to the server that a client's goes on with.
func (p *Proxy) connect(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p.join(&pair{client: client, server: server})
}

// join forwards between the two until one of them ends.
func (p *Proxy) join(c *pair) {
	p.mu.Lock()
	p.conns[c] = struct{}{}
	p.made++
	if p.mode == refuse {
		c.cut()
	}
	p.mu.Unlock()
	p.done.Go(func() { p.copy(c, requests, c.client, c.server) })
	p.done.Go(func() { p.copy(c, answers, c.server, c.client) })
}

// copy passes on what gets through, and loses the rest.
func (p *Proxy) copy(c *pair, d direction, from, to net.Conn) {
	writer := newLateWriter(to, func() time.Time { return p.due(d) })
	written := make(chan struct{})
	p.done.Go(func() {
		defer close(written)
		writer.run()
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && p.passes(c, d, buf[:n]) {
			_, _ = writer.Write(buf[:n]) // cannot fail
		}
		if err != nil {
			break
		}
	}
	writer.close()
	<-written
	p.ended(c, d)
}

// passes reports whether bytes get through.
func (p *Proxy) passes(c *pair, d direction, b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c.forgotten || p.mode.loses(d):
		return false
	case d == requests:
		c.asked = c.asked || p.rob != nil && p.rob(b)
		return !p.caught(c, b)
	}
	return !p.steals(c, b)
}

// ended cuts a connection of which one direction has ended, unless nothing of that
// direction gets through, not even its end.
func (p *Proxy) ended(c *pair, d direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.forgotten || c.held != nil && d == requests {
		return // the other end is not to notice
	}
	if _, open := p.conns[c]; open && p.mode.loses(d) {
		return // Heal or Refuse cuts it
	}
	c.cut()
	delete(p.conns, c)
	delete(p.kept, c)
}

func (c *pair) cut() {
	_ = c.client.Close()
	_ = c.server.Close()
}
