package kubernetes_test

import (
	"crypto/rand"
	"net/http"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
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
) *kubernetes.Coordinator {
	tb.Helper()
	return c.with(tb, c.client, namespace, o)
}

// with is new with another client.
func (c *cluster) with(tb testing.TB, client *http.Client, namespace string,
	o kubernetes.Options,
) *kubernetes.Coordinator {
	tb.Helper()
	o.In = c.in
	k, err := kubernetes.New(client, c.URL, namespace, o)
	return drivertest.Closing(tb, k, err)
}

// harness connects the suite with a new namespace.
func (c *cluster) harness() coordtest.Harness {
	participant := func(ns string) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			return c.new(tb, ns, kubernetes.Options{})
		}
	}
	ns := rand.Text()
	return coordtest.Harness{
		Client: participant(ns), OtherNamespace: participant(rand.Text()), Sticky: true,
		Expire: func(tb testing.TB, g coord.Grant) {
			tb.Helper()
			kubernetes.Expire(tb, c.client, c.URL, ns, c.in, g.WorkerID)
		},
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			drivertest.RaiseFloor(tb, c.new(tb, ns, kubernetes.Options{}), tick)
		},
	}
}

// TestConformance holds the driver to the rules of package coord.
func TestConformance(t *testing.T) {
	// Each case has a Kubernetes namespace of its own: lists show all of one.
	harness := func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		return newCluster(tb).harness()
	}
	t.Run("Run", func(t *testing.T) { coordtest.Run(t, harness) })
	t.Run("RunAdmin", func(t *testing.T) { coordtest.RunAdmin(t, harness) })
}
