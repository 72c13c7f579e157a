package backend

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// Way is a proxy before each of several servers: what a network does between clients and them.
type Way []*proxytest.Proxy

// StartWay runs a proxy before each server. Targets are their addresses.
func StartWay(tb testing.TB, targets ...string) (w Way) {
	tb.Helper()
	for _, t := range targets {
		w = append(w, proxytest.Start(tb, t))
	}
	return w
}

// Addrs returns the addresses for clients, in the order of the targets.
func (w Way) Addrs() (all []string) {
	for _, p := range w {
		all = append(all, p.Addr)
	}
	return all
}

// Each calls do for each proxy.
func (w Way) Each(do func(*proxytest.Proxy)) {
	for _, p := range w {
		do(p)
	}
}

// Slow makes every request and every reply take so much longer.
func (w Way) Slow(request, reply time.Duration) {
	w.Each(func(p *proxytest.Proxy) { p.DelayRequests(request); p.Delay(reply) })
}

// Rob loses the reply to every second request of which match is true, and the connection with it.
func (w Way) Rob(match func([]byte) bool) {
	w.Each(func(p *proxytest.Proxy) { p.Rob(2, match) })
}

// Robbed returns how many replies were lost.
func (w Way) Robbed() (n int) {
	w.Each(func(p *proxytest.Proxy) { n += p.Robbed() })
	return n
}

// HoldBack catches a request, at whichever server, see [proxytest.NewHeld].
func (w Way) HoldBack(h *proxytest.Held) *proxytest.Held {
	w.Each(func(p *proxytest.Proxy) { p.HoldBack(h) })
	return h
}

// Restore ends all faults. What is held can still be delivered.
func (w Way) Restore() {
	w.Slow(0, 0)
	w.Each((*proxytest.Proxy).Restore)
}
