package proxytest

import (
	"bytes"
	"errors"
	"net"
	"sync"
)

// Held is a request that is delivered later than it was sent, as by a network that has
// kept it for long. Make it with [NewHeld] or [NewCopied] and pass it to [Proxy.Hold].
type Held struct {
	match  func([]byte) bool
	copied bool
	caught chan struct{}

	mu      sync.Mutex
	request []byte
	target  string   // where a copy goes
	server  net.Conn // nil: not caught yet, or a copy that was not delivered yet
	answer  bytes.Buffer
}

// NewHeld returns a Held for the first request of which match is true. The request does
// not reach the server, its client is cut off by a reset, and its connection to the server
// stays. There it is delivered: with that the server has a client that knows nothing of
// what it sends. So this works for every protocol, if the server keeps connections of
// clients that are silent for so long. ZooKeeper closes that of a session whose client has
// connected again.
func NewHeld(match func(request []byte) bool) *Held {
	return &Held{match: match, caught: make(chan struct{})}
}

// NewCopied returns a Held for the first request of which match is true, which reaches the
// server as well. The copy is delivered on a new connection, as the first that is sent
// there. That works for protocols whose requests stand alone, such as that of Redis.
func NewCopied(match func(request []byte) bool) *Held {
	h := NewHeld(match)
	h.copied = true
	return h
}

// Caught is closed when there is a request to deliver.
func (h *Held) Caught() <-chan struct{} { return h.caught }

// Deliver sends the request to the server. It may be called several times.
func (h *Held) Deliver() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.request == nil {
		return errors.New("no request was caught that could be delivered")
	}
	if h.copied {
		c, err := net.Dial("tcp", h.target)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write(h.request); err != nil {
			return err
		}
		buf := make([]byte, 64<<10)
		n, err := c.Read(buf)
		h.answer.Write(buf[:n])
		return err
	}
	_, err := h.server.Write(h.request)
	return err
}

// Answer returns what the server has sent on the connection of the request since it was
// caught.
func (h *Held) Answer() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.answer.String()
}

func (h *Held) answered(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer.Write(b)
}

// HoldBack waits for the request that h is made for. A proxy waits for one at a time; several
// proxies can wait for the same, and the first to see it has it. Restore ends it.
func (p *Proxy) HoldBack(h *Held) { p.do(func() { p.waiting = h }) }

// caught reports whether a request was caught, and does not reach the server now. The lock
// is held.
func (p *Proxy) caught(c *pair, request []byte) bool {
	if c.held != nil {
		return true // what its client has sent since
	}
	h := p.waiting
	if h == nil || !h.match(request) {
		return false
	}
	p.waiting = nil
	if !h.take(c, request, p.target) || h.copied {
		return false
	}
	c.held = h
	delete(p.conns, c)
	p.kept[c] = struct{}{}
	reset(c.client)
	return true
}

// take reports whether the request is the first.
func (h *Held) take(c *pair, request []byte, target string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.request != nil {
		return false
	}
	h.request, h.target = bytes.Clone(request), target
	if !h.copied {
		h.server = c.server
	}
	close(h.caught)
	return true
}
