package kubernetes

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// middlebox is between a client and a server that says to all requests that there is no such Lease. It
// forgets connections, and tells nobody.
type middlebox struct {
	mu    sync.Mutex
	made  int
	alive int // the first connection that is not forgotten
	wait  chan struct{}
}

// serve is the other end of a connection.
func (m *middlebox) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	m.mu.Lock()
	number := m.made
	m.made++
	m.mu.Unlock()
	for r := bufio.NewReader(conn); ; {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		<-m.wait
		m.mu.Lock()
		forgotten := number < m.alive
		m.mu.Unlock()
		if forgotten {
			_, _ = r.WriteTo(nobody{})
			return
		}
		if !saysAbsent(conn) {
			return
		}
	}
}

// TestForgottenConnections: what is between forgets all connections, of which HTTP/1.1 has many. Whoever finds out about
// one does not try the others: the next request is made on a new one, also where each was given up soon.
func TestForgottenConnections(t *testing.T) {
	const idle = 8
	for name, tc := range map[string]struct {
		patience time.Duration
		attempts int // that are made on what was forgotten
	}{
		"each takes as long as a connection may be silent": {silence, 1},
		"each takes a third of that":                       {silence / 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &middlebox{wait: make(chan struct{})}
				client, ls := piped(m.serve)
				c, err := build(client, ls, "http://h", "orders", Options{In: "shop"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				var all sync.WaitGroup
				for range idle {
					all.Go(func() {
						if _, err := c.Inspect(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait() // all are under way, each on a connection of its own
				close(m.wait)
				all.Wait()
				m.mu.Lock()
				m.alive = m.made
				m.mu.Unlock()
				if m.made != idle {
					t.Fatalf("there are %d connections; want %d", m.made, idle)
				}
				for n := 0; ; n++ {
					ctx, cancel := context.WithTimeout(t.Context(), tc.patience)
					_, err := c.Inspect(ctx)
					cancel()
					if err == nil {
						if n != tc.attempts {
							t.Errorf("%d attempts were made on connections that were forgotten; want %d", n, tc.attempts)
						}
						return
					}
				}
			})
		})
	}
}
