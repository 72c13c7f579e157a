package redis

import "github.com/unalike-id/unalike/internal/protocol"

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
	store *store
}

// Close ends what this coordinator has under way. It releases no worker ID, and leaves
// a client that was passed to [New] as it is; a call that hangs in that client ends
// there with the client's ReadTimeout, or when the client is closed.
func (c *Coordinator) Close() error {
	err := c.Coordinator.Close()
	c.store.clients.Close()
	return err
}
