// Package proxytest has a TCP proxy that misbehaves on demand, for tests of what a
// network does to a program and its server.
package proxytest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards connections to a server. It ends with the test.
type Proxy struct {
	Addr     string // host:port to connect to
	target   string
	listener net.Listener
	done     sync.WaitGroup

	mu    sync.Mutex
	mode  mode
	delay time.Duration // of answers
	made  int           // how many connections there were
	conns map[*pair]struct{}
}

// mode is what the proxy does with what it gets.
type mode int

const (
	forward mode = iota
	swallow      // requests get through, replies do not
	hang         // nothing gets through, and connections stay
	refuse       // connections are cut, and new ones too
)

// pair is a connection and its continuation.
type pair struct{ client, server net.Conn }

// Start runs a proxy for the server at the address target.
func Start(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, listener: l, conns: map[*pair]struct{}{}}
	p.done.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.set(refuse)
		p.done.Wait()
	})
	return p
}

// Swallow lets requests through from now on, and loses every byte of the answers.
func (p *Proxy) Swallow() { p.set(swallow) }

// Hang loses everything from now on, in both directions, and leaves connections open,
// as a network does that drops packets.
func (p *Proxy) Hang() { p.set(hang) }

// Refuse cuts all connections, and new ones as soon as they are made.
func (p *Proxy) Refuse() { p.set(refuse) }

// Heal forwards everything again. Connections on which something was lost are cut,
// because what follows would make no sense on them.
func (p *Proxy) Heal() { p.set(forward) }

// Delay has every answer take so much longer from now on. Connections stay as they are,
// and many answers can be under way at a time.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
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

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.current() == refuse {
			_ = client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.join(&pair{client, server})
	}
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
	p.done.Go(func() { p.copy(c, c.server, c.client, func(m mode) bool { return m != hang }) })
	late := newLateWriter(c.client, p.due)
	p.done.Go(func() {
		p.copy(c, late, c.server, func(m mode) bool { return m == forward })
		late.close()
	})
	p.done.Go(late.run)
}

// copy passes on what passes lets through, and loses the rest.
func (p *Proxy) copy(c *pair, to io.Writer, from io.Reader, passes func(mode) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && passes(p.current()) {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			break
		}
	}
	c.cut()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

func (c *pair) cut() {
	_ = c.client.Close()
	_ = c.server.Close()
}
