package etcd

import (
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/protocol"
)

// Coordinator leases worker IDs of one namespace in an etcd cluster. It is safe for
// concurrent use, and one serves any number of generators. Make it with [New], or
// with coord.Open. Its methods are those of coord.Coordinator, Describer, Notifier,
// Admin and Resumer.
//
// Acquire makes four calls to etcd, two of them at the same time, however many worker IDs are
// held; more only if others take the same ones at the same moment, and, in the background, to list
// the namespaces of the cluster if it has made one. Renew makes one, and keeps the lease alive at
// the same time.
type Coordinator struct {
	*protocol.Coordinator
	client *clientv3.Client
	owned  bool // the client was made here, and is closed here

	closing sync.Once
	closed  error // what closing the client said
}

// Close ends what this coordinator has under way and waits for its goroutines. It
// releases no worker ID, and leaves a client that was passed to [New] as it is.
func (c *Coordinator) Close() error {
	c.closing.Do(func() {
		c.closed = c.Coordinator.Close()
		if c.owned {
			c.closed = c.client.Close()
		}
	})
	return c.closed
}
