package proxytest

import "bytes"

// Bar cuts the connections whose client's first bytes match is true of, and new ones, as a network
// does that lets some through and others not. Nil ends it.
func (p *Proxy) Bar(match func(first []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.barred = match
	for c := range p.conns {
		if match != nil && c.first != nil && match(c.first) {
			c.cut()
		}
	}
}

// bars notes what a client has sent first, and cuts its connection if it is barred. The lock is
// held.
func (p *Proxy) bars(c *pair, request []byte) bool {
	if c.first != nil {
		return false
	}
	c.first = bytes.Clone(request)
	if p.barred == nil || !p.barred(c.first) {
		return false
	}
	c.cut()
	return true
}
