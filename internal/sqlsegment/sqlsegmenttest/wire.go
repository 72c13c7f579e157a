// Package sqlsegmenttest has the tests that stores of segments in SQL databases share, on real
// servers.
package sqlsegmenttest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// Wire makes connections to a server that can be changed, and counts round trips on them: how often
// something is sent after something was received.
type Wire struct {
	mu    sync.Mutex
	addr  string
	trips int
	heard bool
	mutes func(request []byte) bool // nil: none
}

// Mute has the server's answers not arrive any more on a connection after a request that matches,
// as when the server is frozen then.
func (w *Wire) Mute(match func(request []byte) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mutes = match
}

// To has later connections lead to addr.
func (w *Wire) To(addr string) *Wire {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addr = addr
	return w
}

// Trips returns how many round trips there were since the last call.
func (w *Wire) Trips() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.trips
	w.trips = 0
	return n
}

// Dial connects to where the wire leads, whatever addr is.
func (w *Wire) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	if w.addr != "" {
		addr = w.addr
	}
	w.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: conn, w: w}, nil
}

type counted struct {
	net.Conn
	w     *Wire
	muted atomic.Bool
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for err == nil && c.muted.Load() {
		n, err = c.Conn.Read(b)
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.heard = c.w.heard || n > 0
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	if c.w.heard {
		c.w.trips++
	}
	c.w.heard = false
	if c.w.mutes != nil && c.w.mutes(b) {
		c.muted.Store(true)
	}
	c.w.mu.Unlock()
	return c.Conn.Write(b)
}
