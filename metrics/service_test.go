package metrics_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/unalike-id/unalike/metrics"
)

// TestService: requests are counted by route, method and code, and a caller cannot make labels of his own.
func TestService(t *testing.T) {
	reg := prometheus.NewRegistry()
	s, err := metrics.NewService(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodGet, http.MethodGet, "BREW", "X\xff"} {
		s.Request("/v1/generators", method, http.StatusOK, 3*time.Millisecond)
	}
	s.Refused("rate")
	const want = `
# HELP unalike_http_requests_total Requests answered. Errors of RPCs have the status that they have over HTTP.
# TYPE unalike_http_requests_total counter
unalike_http_requests_total{code="200",handler="/v1/generators",method="GET"} 2
unalike_http_requests_total{code="200",handler="/v1/generators",method="other"} 2
# HELP unalike_refusals_total Requests and connections refused, by reason.
# TYPE unalike_refusals_total counter
unalike_refusals_total{reason="rate"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "unalike_http_requests_total", "unalike_refusals_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(reg, "unalike_http_request_duration_seconds"); err != nil || n != 1 {
		t.Errorf("%d histograms, %v", n, err)
	}
	var twice prometheus.AlreadyRegisteredError
	if _, err := metrics.NewService(reg); !errors.As(err, &twice) {
		t.Errorf("registered twice: %v", err)
	}
}
