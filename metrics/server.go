package metrics

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Server shows a server: it is a server.Meter. It is safe for concurrent use. Make it with
// [RegisterServer].
type Server struct {
	reg               prometheus.Registerer
	shared            *collector
	requests, refused *prometheus.CounterVec
	took              *prometheus.HistogramVec

	// seen has the series of each kind: looking one up by its labels costs more than counting. The
	// map is replaced under the lock, and never changed.
	seen atomic.Pointer[map[kind]*series]
	mu   sync.Mutex
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

// RegisterServer returns the meter of a server, which shows it in reg: set it as Config.Meter. The
// error is that of reg, as when it has a server already, and wraps [coord.ErrInvalid] if reg is
// nil.
func RegisterServer(reg prometheus.Registerer) (*Server, error) {
	shared, err := collectorOf(reg)
	if err != nil {
		return nil, err
	}
	s := &Server{
		reg: reg, shared: shared,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "unalike_http_requests_total",
			Help: "Requests answered. Errors of RPCs have the status that they have over HTTP.",
		}, []string{"handler", "method", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "unalike_http_request_duration_seconds",
			Help: "How long requests took; streams count when they end.", Buckets: buckets,
		}, []string{"handler"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "unalike_refusals_total", Help: "Requests and connections refused, by reason.",
		}, []string{"reason"}),
	}
	s.seen.Store(&map[kind]*series{})
	for _, c := range []prometheus.Collector{s.requests, s.took, s.refused} {
		if err := s.register(c); err != nil {
			return nil, err
		}
	}
	for _, reason := range []string{"connections", "requests", "unauthorized"} {
		s.refused.WithLabelValues(reason) // a flood of first ones would wait for the lock of the vector
	}
	return s, nil
}

func (s *Server) register(c prometheus.Collector) error {
	if err := s.reg.Register(c); err != nil {
		return fmt.Errorf("metrics: registering: %w", err)
	}
	return nil
}

// Gauge shows a figure of the server.
func (s *Server) Gauge(name, help string, value func() int64) error {
	return s.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "unalike_" + name, Help: help,
	}, func() float64 { return float64(value()) }))
}

// Store shows whether the store of the tags gives numbers, also before it has answered.
func (s *Server) Store(check func() error) {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	s.shared.store = check
}

// WorkerIDs shows how many worker IDs of a generator's namespace are in each state.
func (s *Server) WorkerIDs(generator string, byState map[string]int) {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	s.shared.workerIDs[generator] = maps.Clone(byState)
}

// Request counts a request.
func (s *Server) Request(handler, method string, status int, took time.Duration) {
	one := s.of(kind{handler, methodOf(method), status})
	one.requests.Inc()
	one.took.Observe(took.Seconds())
}

// of returns the series of a kind.
func (s *Server) of(k kind) *series {
	if one := (*s.seen.Load())[k]; one != nil {
		return one
	}
	one := &series{
		s.requests.WithLabelValues(k.handler, k.method, strconv.Itoa(k.status)),
		s.took.WithLabelValues(k.handler),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(*s.seen.Load())
	next[k] = one
	s.seen.Store(&next)
	return one
}

// Refused counts a refusal.
func (s *Server) Refused(reason string) { s.refused.WithLabelValues(reason).Inc() }

// methodOf is the label for a method: a caller may write anything.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
