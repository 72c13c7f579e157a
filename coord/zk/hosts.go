package zk

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// dialTime bounds connecting to one server, the first time round.
	dialTime = time.Second
	// shortestRest and longestRest bound the pause after all servers were tried.
	shortestRest = 20 * time.Millisecond
	longestRest  = 250 * time.Millisecond
)

// hosts chooses the server of the next connection, round the ring from a random one
// on. It implements the client's HostProvider.
//
// The client would look names up once and for all, and pause for a whole second each
// time round. Here a name is looked up when it is dialed, and the pauses are in rest.
type hosts struct {
	life context.Context // of the session

	mu      sync.Mutex
	servers []string
	next    int
	tried   int  // since the last connection or the last rest
	rests   int  // since the last connection
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

// rest pauses if all servers were tried since the last connection or rest, longer and
// longer; and for a moment if a connection was lost, because many clients may have
// lost theirs together.
func (h *hosts) rest() error {
	h.mu.Lock()
	var pause time.Duration
	switch h.tried++; {
	case h.lost:
		pause = shortestRest
		h.lost = false
	case h.tried > len(h.servers):
		pause = min(shortestRest<<min(h.rests, 10), longestRest)
		h.tried = 1
		h.rests++
	}
	if pause > 0 {
		pause = pause/2 + rand.N(pause)
	}
	h.mu.Unlock()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-h.life.Done():
		return context.Cause(h.life)
	case <-timer.C:
		return nil
	}
}

// dial connects to a server. Each time round, there is twice the time for it.
func (h *hosts) dial(address string) (net.Conn, error) {
	if err := h.rest(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	limit := dialTime << min(h.rests, 4)
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(h.life, limit)
	defer cancel()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}
