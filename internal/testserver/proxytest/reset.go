package proxytest

import (
	"net"
	"time"
)

// afterwards is how long the rest of a lost reply is lost, before its connection is reset.
// A server may begin to answer before it has carried out the request.
const afterwards = 100 * time.Millisecond

// Reset cuts all connections as a machine does that knows nothing of them: with a TCP
// reset. New ones are forwarded.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c.client, c.server)
	}
}

// Rob forwards requests of which match is true, loses the reply to one in every so many,
// and resets its connection then: the client cannot know whether the request was carried
// out. Match sees the bytes as they come, and what it sees may be more than one request.
// Heal ends it.
func (p *Proxy) Rob(every int, match func(request []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rob, p.every, p.asked = match, every, 0
}

// Robbed returns how many replies Rob has lost.
func (p *Proxy) Robbed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.robbed
}

// steals reports whether bytes of a reply do not get through. The lock is held.
func (p *Proxy) steals(c *pair, b []byte) bool {
	if c.held != nil {
		c.held.answered(b)
		return true
	}
	if c.robbed || !c.asked || p.rob == nil {
		return c.robbed
	}
	c.asked = false
	if p.asked++; p.asked%p.every != 0 {
		return false
	}
	c.robbed = true
	p.robbed++
	time.AfterFunc(afterwards, func() { reset(c.client, c.server) })
	return true
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
