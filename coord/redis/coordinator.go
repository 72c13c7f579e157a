package redis

import (
	"sync"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Coordinator leases worker IDs of one namespace in Redis. It is safe for concurrent
// use, and one serves any number of generators. Make it with [New], or with
// coord.Open. Its methods are those of coord.Coordinator, Describer, Notifier, Admin and
// Resumer.
//
// Acquire makes three calls to Redis, however many worker IDs are held; more only if others
// take the same ones at the same moment, or if the namespace is not there. Renew and Release
// make one.
type Coordinator struct {
	*protocol.Coordinator
	store    *store
	warnings []string // about the client
	hangUp   func()   // ends what a client waits for that was made here, and is closed here

	closing sync.Once
	closed  error // what closing the client said
}

// Close ends what this coordinator has under way. It releases no worker ID, and leaves
// a client that was passed to [New] as it is; a call that hangs in that client ends
// there with the client's ReadTimeout, or when the client is closed.
func (c *Coordinator) Close() error {
	c.closing.Do(func() {
		c.closed = c.Coordinator.Close()
		if c.hangUp != nil {
			c.hangUp()
		}
		c.store.clients.Close()
	})
	return c.closed
}

// Describe implements [coord.Describer]. The place is known of clients that are made from a URL,
// and of others but those of Sentinels.
func (c *Coordinator) Describe() coord.Description {
	d := c.Coordinator.Describe()
	d.Warnings = c.warnings
	return d
}
