package redistest

import (
	"strconv"
	"strings"
	"testing"

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
	ports := free(tb, 2*nodes) // the second half is for what they tell each other
	c := new(Cluster)
	for i := range nodes {
		addr, own := proctest.Addr(ports[i]), o
		own.Args = append([]string{
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-port", strconv.Itoa(ports[nodes+i]),
			"--cluster-node-timeout", o.silence(), "--cluster-announce-ip", "127.0.0.1",
		}, o.Args...)
		if o.Announce != nil {
			_, port, _ := strings.Cut(o.Announce(tb, addr), ":")
			own.Args = append(own.Args, "--cluster-announce-port", port)
		}
		s := newServer(tb, own, addr, "")
		s.Restart(tb)
		c.Nodes = append(c.Nodes, s)
		s.Do(tb, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		s.Do(tb, "CLUSTER", "ADDSLOTSRANGE", i*slotCount/nodes, (i+1)*slotCount/nodes-1)
		if i > 0 {
			s.Do(tb, "CLUSTER", "MEET", "127.0.0.1", ports[0], ports[nodes])
		}
	}
	c.Await(tb)
	return c
}

// Await waits until all nodes say that the Cluster is well.
func (c *Cluster) Await(tb testing.TB) {
	tb.Helper()
	for _, s := range c.Nodes {
		awaits(tb, s.Client(tb), "cluster_state:ok", "CLUSTER", "INFO")
	}
}
