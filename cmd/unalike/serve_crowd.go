package main

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// graceTime is how long a connection may be idle, which it is until its first request has arrived,
// before it gives way to another one.
const graceTime = 100 * time.Millisecond

// crowd is a listener with a bound on its connections. When there are as many as may be, the one
// that has been idle for the longest time gives way to the next.
type crowd struct {
	net.Listener
	most    int
	plain   bool                // it speaks HTTP without TLS
	refused func(reason string) // is told of a connection for which there was no room

	mu  sync.Mutex
	all map[net.Conn]time.Time // since when a connection is idle; zero: it is not
}

// tooMany is what a connection without room hears.
const tooMany = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: " +
	"close\r\nContent-Length: 0\r\n\r\n"

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		idle, wait, ok := c.enter(conn)
		for wait > 0 {
			time.Sleep(wait) // nobody is accepted meanwhile: there is no room
			idle, wait, ok = c.enter(conn)
		}
		if idle != nil {
			_ = idle.Close()
			c.refused("idle_connections")
		}
		if ok {
			return conn, nil
		}
		if c.plain {
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(conn, tooMany)
		}
		_ = conn.Close()
		c.refused("connections")
	}
}

// enter counts a connection, and reports whether there is room for it, which other one has to go,
// or how long none may have to.
func (c *crowd) enter(conn net.Conn) (idle net.Conn, wait time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= c.most { //mutant:serve-descriptors
		oldest := time.Time{}
		for other, since := range c.all {
			if !since.IsZero() && (idle == nil || since.Before(oldest)) {
				idle, oldest = other, since
			}
		}
		if idle == nil {
			return nil, 0, false
		}
		if wait := graceTime - time.Since(oldest); wait > 0 {
			return nil, wait, false
		}
		delete(c.all, idle)
	}
	c.all[conn] = time.Now() // it has not asked for anything yet
	return idle, 0, true
}

// state follows what a connection does, as http.Server tells it.
func (c *crowd) state(conn net.Conn, state http.ConnState) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, here := c.all[conn]; !here {
		return
	}
	switch state {
	case http.StateActive:
		c.all[conn] = time.Time{}
	case http.StateIdle:
		c.all[conn] = time.Now()
	case http.StateHijacked, http.StateClosed:
		delete(c.all, conn)
	}
}

// count returns how many connections there are.
func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}
