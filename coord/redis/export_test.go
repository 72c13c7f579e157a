package redis

import (
	"strconv"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// storeOf is the store of a coordinator.
func storeOf(c coord.AdminCoordinator) *store { return c.(*protocol.Coordinator).Store().(*store) }

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

// IdleConnections is how many connections of a coordinator's client are in no use.
func IdleConnections(c coord.AdminCoordinator) int {
	return int(storeOf(c).clients.Current().PoolStats().IdleConns)
}
