package proxy

import "github.com/unalike-id/unalike/internal/testserver/proxytest"

// Forget loses everything on the connections that there are from now on, and tells neither end. New
// connections work.
func (p *Proxy) Forget() { p.each((*proxytest.Proxy).Forget) }
