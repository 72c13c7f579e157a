package redis

// Commands are the rights that a user of Redis needs.
func Commands() []string { return commands }

// KeyOf is the key of a namespace.
func KeyOf(namespace string) string { return keyOf(namespace) }

// IdleConnections is how many connections of the client are in no use.
func (c *Coordinator) IdleConnections() int {
	return int(c.store.clients.Current().PoolStats().IdleConns)
}
