package proxytest

// Forget loses everything on the connections that there are from now on, in both directions, their
// ends as well, and forwards new ones: as a firewall that was restarted, or a machine in between
// that was replaced. Neither side is told. Refuse ends such connections; Heal does not.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.forgotten = true
	}
}
