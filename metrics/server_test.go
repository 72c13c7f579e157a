package metrics_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/unalike-id/unalike/metrics"
	"github.com/unalike-id/unalike/segment"
)

// TestServer: requests are counted by route, method and code, and a caller cannot make labels of
// his own.
func TestServer(t *testing.T) {
	reg := prometheus.NewRegistry()
	s, err := metrics.RegisterServer(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodGet, http.MethodGet, "BREW", "X\xff"} {
		s.Request("/v1/generators", method, http.StatusOK, 3*time.Millisecond)
	}
	s.Refused("rate")
	s.Store(func() error { return segment.ErrDamaged })
	if err := s.Gauge("http_requests_in_flight", "x", func() int64 { return 7 }); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, want := range []string{
		`unalike_http_requests_total{code="200",handler="/v1/generators",method="GET"} 2`,
		`unalike_http_requests_total{code="200",handler="/v1/generators",method="other"} 2`,
		`unalike_refusals_total{reason="rate"} 1`, `unalike_http_requests_in_flight 7`,
		`unalike_store_ready 0`, `unalike_store_failing{reason="damaged"} 1`,
		`unalike_http_request_duration_seconds_count{handler="/v1/generators"} 4`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+want+"\n") {
			t.Errorf("%s is not in\n%s", want, w.Body)
		}
	}
	var twice prometheus.AlreadyRegisteredError
	if _, err := metrics.RegisterServer(reg); !errors.As(err, &twice) {
		t.Errorf("registered twice: %v", err)
	}
}
