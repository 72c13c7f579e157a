package zk

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// dialTime bounds connecting to one server, the first time round.
const dialTime = time.Second

// hosts chooses the server of the next connection, round the ring from a random one
// on. It implements the client's HostProvider.
//
// The client would look names up once and for all, and pause for a whole second each
// time round. Here a name is looked up when it is dialed, and the pauses are in dial.
type hosts struct {
	life context.Context // of the session

	mu      sync.Mutex
	servers []string
	next    int
	tried   int  // since the last connection or the last pause for having tried all
	rests   int  // such pauses since the last connection
	lost    bool // there was a connection before the next one
}

func newHosts(life context.Context, servers []string) *hosts {
	h := &hosts{life: life, servers: slices.Clone(servers)}
	rand.Shuffle(len(h.servers), func(i, j int) { h.servers[i], h.servers[j] = h.servers[j], h.servers[i] })
	return h
}

// Init implements the client's HostProvider. The servers are known already.
func (h *hosts) Init([]string) error { return nil }

// Len implements the client's HostProvider.
func (h *hosts) Len() int { return len(h.servers) }

// Next implements the client's HostProvider. The second result has the client look
// whether it was closed.
func (h *hosts) Next() (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	return s, h.life.Err() != nil
}

// Connected implements the client's HostProvider.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried, h.rests, h.lost = 0, 0, true
}

// dial connects to a server. It pauses before that if all servers were tried since the last
// connection or pause, longer and longer; and for a moment if a connection was lost, because
// many clients may have lost theirs together. Each time round, there is twice the time.
func (h *hosts) dial(address string) (net.Conn, error) {
	h.mu.Lock()
	pause := 0
	switch h.tried++; {
	case h.lost:
		pause, h.lost = 1, false
	case h.tried > len(h.servers):
		h.tried = 1
		h.rests++
		pause = h.rests
	}
	limit := dialTime << min(h.rests, 4)
	h.mu.Unlock()
	if err := lifetime.Pause(h.life, pause); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(h.life, limit)
	defer cancel()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}
