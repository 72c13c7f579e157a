// Package proxy puts a TCP proxy that misbehaves on demand before each server of a back
// end. Clients that connect through it meet the faults of a network; the servers reach
// each other without it.
//
// It is a group of proxies of package proxytest. That package has every fault that the
// suite needs, among them those that toxiproxy lacks: the reply that is lost after its
// request was carried out, and the request that is delivered long after its client has
// given up. So there is one proxy, and not two.
package proxy

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// Proxy stands before several servers. Its methods are safe for concurrent use.
type Proxy struct{ gates []*proxytest.Proxy }

// Start runs a proxy before each server. Targets are their addresses. It ends with the
// test.
func Start(tb testing.TB, targets ...string) *Proxy {
	tb.Helper()
	p := new(Proxy)
	for _, t := range targets {
		p.gates = append(p.gates, proxytest.Start(tb, t))
	}
	return p
}

// Join returns one proxy for the servers of several ones.
func Join(several ...*Proxy) *Proxy {
	all := new(Proxy)
	for _, p := range several {
		all.gates = append(all.gates, p.gates...)
	}
	return all
}

// Addrs returns the addresses for clients, in the order of the targets.
func (p *Proxy) Addrs() []string {
	var all []string
	for _, g := range p.gates {
		all = append(all, g.Addr)
	}
	return all
}

// Only returns the part of the proxy that stands before the i-th server, counted from 0,
// for faults that its clients alone are to meet.
func (p *Proxy) Only(i int) *Proxy { return &Proxy{p.gates[i : i+1]} }

// Lead has all new connections go to one server, as those to an address do that has moved.
func (p *Proxy) Lead(target string) { p.each(func(g *proxytest.Proxy) { g.Lead(target) }) }

func (p *Proxy) each(do func(*proxytest.Proxy)) {
	for _, g := range p.gates {
		do(g)
	}
}

// DelayRequests makes every request take so much longer from now on, and DelayReplies
// every reply. Many can be under way at a time.
func (p *Proxy) DelayRequests(d time.Duration) {
	p.each(func(g *proxytest.Proxy) { g.DelayRequests(d) })
}

// DelayReplies is DelayRequests for replies.
func (p *Proxy) DelayReplies(d time.Duration) { p.each(func(g *proxytest.Proxy) { g.Delay(d) }) }

// LoseRequests loses all bytes that clients send from now on, and lets replies through.
// Connections stay open, and their ends are lost as well.
func (p *Proxy) LoseRequests() { p.each((*proxytest.Proxy).Deafen) }

// LoseReplies is the same for what servers send.
func (p *Proxy) LoseReplies() { p.each((*proxytest.Proxy).Swallow) }

// LoseAll is both.
func (p *Proxy) LoseAll() { p.each((*proxytest.Proxy).Hang) }

// Refuse closes all connections, and new ones as soon as they are made.
func (p *Proxy) Refuse() { p.each((*proxytest.Proxy).Refuse) }

// Reset ends all connections with a TCP reset. New ones work.
func (p *Proxy) Reset() { p.each((*proxytest.Proxy).Reset) }

// LoseAcks forwards requests of which match is true, loses the reply to one in every so
// many of each server, and resets its connection then: the client cannot know whether the
// request was carried out. Backend.IsCall is such a match.
func (p *Proxy) LoseAcks(every int, match func(request []byte) bool) {
	p.each(func(g *proxytest.Proxy) { g.Rob(every, match) })
}

// AcksLost returns how many replies LoseAcks has lost.
func (p *Proxy) AcksLost() (n int) {
	p.each(func(g *proxytest.Proxy) { n += g.Robbed() })
	return n
}

// Hold keeps the next request of which match is true, at whichever server, and resets its
// connection to the client. Deliver of what it returns sends it to the server, on the
// connection that the server still has. That works for Redis, etcd and HTTP. ZooKeeper closes
// the connection once the client has resumed its session elsewhere, and so never accepts
// the request after that.
func (p *Proxy) Hold(match func(request []byte) bool) *proxytest.Held {
	return p.hold(proxytest.NewHeld(match))
}

// Copy lets the next request of which match is true through and keeps a copy, which
// Deliver sends on a new connection. That works for Redis and for HTTP: requests of the others
// belong to a session on their connection.
func (p *Proxy) Copy(match func(request []byte) bool) *proxytest.Held {
	return p.hold(proxytest.NewCopied(match))
}

func (p *Proxy) hold(h *proxytest.Held) *proxytest.Held {
	p.each(func(g *proxytest.Proxy) { g.Hold(h) })
	return h
}

// Heal ends all faults. Connections on which bytes were lost are closed, because what
// follows would make no sense on them. What is held can still be delivered.
func (p *Proxy) Heal() {
	p.each(func(g *proxytest.Proxy) {
		g.DelayRequests(0)
		g.Delay(0)
		g.Heal()
	})
}
