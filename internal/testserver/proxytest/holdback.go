package proxytest

import (
	"bytes"
	"errors"
	"net"
	"sync"
)

// Held is a request that is delivered later than it was sent, as by a network that has
// kept it for long. Make it with [NewHeld] and pass it to [Proxy.HoldBack].
type Held struct {
	match  func([]byte) bool
	caught chan struct{}

	mu      sync.Mutex
	request []byte
	server  net.Conn // nil: not caught yet
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

// Caught is closed when there is a request to deliver.
func (h *Held) Caught() <-chan struct{} { return h.caught }

// Deliver sends the request to the server. It may be called several times.
func (h *Held) Deliver() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil {
		return errors.New("no request was caught that could be delivered")
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
	if !h.take(c.server, request) {
		return false
	}
	c.held = h
	delete(p.conns, c)
	p.kept[c] = struct{}{}
	reset(c.client)
	return true
}

// take reports whether the request is the first.
func (h *Held) take(server net.Conn, request []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server != nil {
		return false
	}
	h.server, h.request = server, bytes.Clone(request)
	close(h.caught)
	return true
}
