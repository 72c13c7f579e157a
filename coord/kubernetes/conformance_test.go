package kubernetes_test

import (
	"net/http"
	"testing"

	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
)

// cluster is an API server with a Kubernetes namespace for a test.
type cluster struct {
	*kubetest.Server
	in     string
	client *http.Client
}

// newCluster returns the API server that tests share, with a Kubernetes namespace for a test.
func newCluster(tb testing.TB) *cluster {
	tb.Helper()
	s := kubetest.Shared(tb)
	return &cluster{s, s.Namespace(tb), s.Client(tb, "", nil)}
}

// new returns a coordinator that is closed with the test.
func (c *cluster) new(tb testing.TB, namespace string,
	o kubernetes.Options,
) protocol.Full {
	tb.Helper()
	return c.with(tb, c.client, namespace, o)
}

// with is new with another client.
func (c *cluster) with(tb testing.TB, client *http.Client, namespace string,
	o kubernetes.Options,
) protocol.Full {
	tb.Helper()
	o.In = c.in
	k, err := kubernetes.New(client, c.URL, namespace, o)
	return drivertest.Closing(tb, k, err).(protocol.Full)
}

// TestConformance holds the driver to the rules of package coord. Each case has a Kubernetes
// namespace of its own: lists show all of one.
func TestConformance(t *testing.T) {
	drivertest.Conformance(t, func(tb testing.TB) drivertest.Driver {
		tb.Helper()
		c := newCluster(tb)
		return drivertest.Driver{
			Open: func(tb testing.TB, ns string) drivertest.Operator {
				tb.Helper()
				return c.new(tb, ns, kubernetes.Options{})
			},
			Expire: func(tb testing.TB, ns string, worker int) {
				tb.Helper()
				kubernetes.Expire(tb, c.client, c.URL, ns, c.in, worker)
			},
		}
	})
}
