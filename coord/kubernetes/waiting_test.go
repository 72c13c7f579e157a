package kubernetes_test

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// writes is how often an object was written, as its annotation says.
var writes = regexp.MustCompile(`\\"writes\\":(\d+)`)

// TestWaitingHeavy: what processes do that wait for a worker ID.
func TestWaitingHeavy(t *testing.T) {
	drivertest.Waiting(t, func(t *testing.T) drivertest.Awaited {
		s := kubetest.Shared(t)
		in := s.Namespace(t)
		p := proxytest.Start(t, s.Proxy(t))
		return drivertest.Awaited{
			URL: "kubernetes+http://" + p.Addr + "?namespace=ns&in=" + in, Proxy: p, Watches: true,
			Writes: func() (n int64) {
				code, b := s.Do(http.MethodGet,
					"/apis/coordination.k8s.io/v1/namespaces/"+in+"/leases", "", nil)
				if code != http.StatusOK {
					t.Fatalf("list: %d, %s", code, b)
				}
				for _, found := range writes.FindAllSubmatch(b, -1) {
					times, _ := strconv.ParseInt(string(found[1]), 10, 64)
					n += times
				}
				return n
			},
		}
	})
}
