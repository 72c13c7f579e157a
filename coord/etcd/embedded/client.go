package embedded

import clientv3 "go.etcd.io/etcd/client/v3"

// Client returns the client with which the coordinator talks to the etcd of its folder, wherever
// that runs. It belongs to the coordinator, which closes it. Package segment keeps its numbers
// there too.
func (c *coordinator) Client() *clientv3.Client { return c.client }
