package proxytest

// Lead has new connections go to another server from now on, as those to an address do that has
// moved. Those that there are stay where they are.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// leads returns where new connections go.
func (p *Proxy) leads() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}
