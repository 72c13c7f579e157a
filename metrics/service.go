package metrics

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Service counts what callers ask of a server. It is a server.Meter. It is safe for concurrent use.
// Make it with [NewService].
type Service struct {
	requests, refused *prometheus.CounterVec
	took              *prometheus.HistogramVec

	mu   sync.RWMutex
	seen map[kind]*series // looking a series up by its labels costs more than counting
}

// kind is what the series of a request depend on.
type kind struct {
	handler, method string
	status          int
}

// series count the requests of a kind.
type series struct {
	requests prometheus.Counter
	took     prometheus.Observer
}

// NewService returns metrics of a server that are registered with reg. The error is that of reg, as
// when it has such metrics already.
func NewService(reg prometheus.Registerer) (*Service, error) {
	s := &Service{
		seen: map[kind]*series{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "unalike_http_requests_total",
			Help: "Requests answered. Errors of RPCs have the status that they have over HTTP.",
		}, []string{"handler", "method", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "unalike_http_request_duration_seconds",
			Help: "How long requests took; streams count when they end.", Buckets: DefaultBuckets(),
		}, []string{"handler"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "unalike_refusals_total", Help: "Requests and connections refused, by reason.",
		}, []string{"reason"}),
	}
	for _, c := range []prometheus.Collector{s.requests, s.took, s.refused} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: registering: %w", err)
		}
	}
	for _, reason := range []string{"connections", "requests", "unauthorized"} {
		s.refused.WithLabelValues(reason) // a flood of first ones would wait for the lock of the vector
	}
	return s, nil
}

// Request counts a request.
func (s *Service) Request(handler, method string, status int, took time.Duration) {
	one := s.of(kind{handler, methodOf(method), status})
	one.requests.Inc()
	one.took.Observe(took.Seconds())
}

// of returns the series of a kind.
func (s *Service) of(k kind) *series {
	s.mu.RLock()
	one := s.seen[k]
	s.mu.RUnlock()
	if one != nil {
		return one
	}
	one = &series{
		s.requests.WithLabelValues(k.handler, k.method, strconv.Itoa(k.status)),
		s.took.WithLabelValues(k.handler),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[k] = one
	return one
}

// Refused counts a refusal.
func (s *Service) Refused(reason string) { s.refused.WithLabelValues(reason).Inc() }

// methodOf is the label for a method: a caller may write anything.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
