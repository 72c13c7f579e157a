package kubernetes_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestNoLongHorizon: no namespace is declared with a longer horizon, and the API server is
// not even asked.
func TestNoLongHorizon(t *testing.T) {
	k, err := kubernetes.New(http.DefaultClient, "http://127.0.0.1:1", "orders", kubernetes.Options{})
	c := drivertest.Closing(t, k, err)
	space := drivertest.Space()
	space.MaxHorizon = time.Hour
	drivertest.WantInvalid(t, "Init", c.Init(drivertest.Within(t), space), "MaxHorizon is 1h0m0s", "every namespace has 2m0s", "use etcd, ZooKeeper, PostgreSQL or MySQL")
	if r := c.Describe().Rules; r.MaxDeclared != 0 {
		t.Errorf("LeaseRules: %+v", r)
	}
}
