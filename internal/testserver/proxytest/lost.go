package proxytest

import "time"

// afterwards is how long the rest of a lost reply is lost, before its connection is reset.
// A server may begin to answer before it has carried out the request.
const afterwards = 100 * time.Millisecond

// Rob forwards requests of which match is true, loses the reply to one in every so many,
// and resets its connection then: the client cannot know whether the request was carried
// out. Match sees the bytes as they come, which may be more than one request, and is called with a
// lock held. Restore ends it.
func (p *Proxy) Rob(every int, match func(request []byte) bool) {
	p.do(func() { p.rob, p.every, p.asked = match, every, 0 })
}

// Robbed returns how many replies Rob has lost.
func (p *Proxy) Robbed() (n int) { p.do(func() { n = p.robbed }); return n }

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

// ending is a request that is the last of its connection.
type ending struct {
	match func(request []byte) bool
	lacks int
}

// ForgetAt forwards the next request of which match is true, without so many of its last bytes, and
// forgets its connection then, see [Proxy.Forget]. Match is called with a lock held. Restore ends
// it.
func (p *Proxy) ForgetAt(match func(request []byte) bool, lacks int) {
	p.do(func() { p.last = &ending{match, lacks} })
}

// forgets returns how many of the last bytes of a request are lost, and forgets its connection if
// it is the last one. The lock is held.
func (p *Proxy) forgets(c *pair, d direction, request []byte) (lost int) {
	e := p.last
	if e == nil || d == answers || !e.match(request) {
		return 0
	}
	p.last, c.forgotten = nil, true
	return e.lacks
}
