package redis

import "strconv"

// Commands are the rights that a user of Redis needs.
func Commands() []string { return commands }

// KeyOf is the key of a namespace.
func KeyOf(namespace string) string { return keyOf(namespace) }

// LeaseOf is the key of the lease of a worker ID.
func LeaseOf(namespace string, worker int) string {
	return leaseOf(namespace, strconv.Itoa(worker))
}

// AllKeys are the keys of a namespace, as a right to them names them.
func AllKeys(namespace string) string { return keysOf(namespace) + "*" }

// IdleConnections is how many connections of the client are in no use.
func (c *Coordinator) IdleConnections() int {
	return int(c.store.clients.Current().PoolStats().IdleConns)
}
