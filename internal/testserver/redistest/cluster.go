package redistest

import (
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// slotCount is the number of hash slots that a Cluster has.
const slotCount = 16384

// Cluster is a Redis Cluster of masters without replicas.
type Cluster struct {
	Nodes []*Server
}

// StartCluster runs a Cluster of so many masters that ends with the test, and returns
// when all of them serve.
func StartCluster(tb testing.TB, o Options, nodes int) *Cluster {
	tb.Helper()
	proctest.Need(tb, packages, "redis-server")
	var c *Cluster
	proctest.OnFreePorts(tb, 2*nodes, func(ports []int) bool {
		c = new(Cluster)
		return c.launch(tb, o, ports)
	}, func() string { return c.Nodes[len(c.Nodes)-1].output.String() })
	c.join(tb)
	return c
}

// launch starts the nodes, which know nothing of each other yet, and reports whether they serve.
// The second half of the ports is for what they tell each other.
func (c *Cluster) launch(tb testing.TB, o Options, ports []int) bool {
	tb.Helper()
	nodes := len(ports) / 2
	for i := range nodes {
		_, bus, _ := strings.Cut(addr(ports[nodes+i]), ":")
		s := &Server{Addr: addr(ports[i]), Dir: tb.TempDir(), opts: o, args: []string{
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", bus,
			"--cluster-node-timeout", o.silence(), "--cluster-announce-ip", "127.0.0.1",
		}}
		if o.Announce != nil {
			_, port, _ := strings.Cut(o.Announce(tb, s.Addr), ":")
			s.args = append(s.args, "--cluster-announce-port", port)
		}
		c.Nodes = append(c.Nodes, s)
		if !s.launch(tb) {
			return false
		}
	}
	return true
}

// join makes the nodes one Cluster.
func (c *Cluster) join(tb testing.TB) {
	tb.Helper()
	n := len(c.Nodes)
	for i, s := range c.Nodes {
		s.Do(tb, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		s.Do(tb, "CLUSTER", "ADDSLOTSRANGE", i*slotCount/n, (i+1)*slotCount/n-1)
		if i > 0 {
			host, port, _ := strings.Cut(c.Nodes[0].Addr, ":")
			s.Do(tb, "CLUSTER", "MEET", host, port, c.Nodes[0].args[5])
		}
	}
	c.Await(tb)
}

// Await waits until all nodes say that the Cluster is well.
func (c *Cluster) Await(tb testing.TB) {
	tb.Helper()
	for _, s := range c.Nodes {
		client := s.Client(tb)
		eventually(tb, "the Cluster is well", func() bool {
			info, err := client.ClusterInfo(tb.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok")
		})
	}
}

// Of returns the node that has the hash slot of a key.
func (c *Cluster) Of(tb testing.TB, key string) *Server {
	tb.Helper()
	slot, err := c.Nodes[0].Client(tb).ClusterKeySlot(tb.Context(), key).Result()
	if err != nil {
		tb.Fatal(err)
	}
	n := int64(len(c.Nodes))
	for i, s := range c.Nodes {
		if slot < (int64(i)+1)*slotCount/n {
			return s
		}
	}
	tb.Fatalf("no node has slot %d", slot)
	return nil
}

// Client returns a client of the Cluster, as package coord/redis wants one, that is
// closed with the test.
func (c *Cluster) Client(tb testing.TB) *goredis.ClusterClient {
	tb.Helper()
	o := &goredis.ClusterOptions{
		Password: c.Nodes[0].opts.Password, ContextTimeoutEnabled: true, DialerRetries: 1, Protocol: 2,
		DialTimeout: readyTime, ReadTimeout: readyTime, WriteTimeout: readyTime, PoolTimeout: readyTime,
	}
	for _, s := range c.Nodes {
		o.Addrs = append(o.Addrs, s.Addr)
	}
	client := goredis.NewClusterClient(o)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}
