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

func (p *Proxy) each(do func(*proxytest.Proxy)) {
	for _, g := range p.gates {
		do(g)
	}
}

// LoseReplies lets requests through from now on, and loses all bytes of the replies.
// Connections stay open.
func (p *Proxy) LoseReplies() { p.each((*proxytest.Proxy).Swallow) }

// LoseAll loses all bytes from now on, in both directions. Connections stay open.
func (p *Proxy) LoseAll() { p.each((*proxytest.Proxy).Hang) }

// Refuse closes all connections, and new ones as soon as they are made.
func (p *Proxy) Refuse() { p.each((*proxytest.Proxy).Refuse) }

// Heal ends LoseReplies, LoseAll and Refuse. Connections on which bytes were lost are
// closed, because what follows would make no sense on them.
func (p *Proxy) Heal() { p.each((*proxytest.Proxy).Heal) }
