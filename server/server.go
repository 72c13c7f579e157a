package server

import (
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/unalike-id/unalike/internal/logs"
)

// Server is an http.Handler that hands out IDs. Make it with [New].
type Server struct {
	cfg   Config
	log   *slog.Logger
	mux   *http.ServeMux
	admin *http.ServeMux
	// fixed are the routes of one path each that most requests are for: looking one up costs less
	// than a search among patterns.
	fixed      map[string]http.HandlerFunc
	known      []string               // the names of the generators, in order
	all        []*generator           // in the same order
	store      atomic.Pointer[store]  // nil: there will be none
	tokens     *tokens                // nil: callers show none
	unread     atomic.Pointer[string] // why tokens could not be read the last time
	stopping   chan struct{}          // closed by Drain
	drain      sync.Once
	watches    streams
	checked    look[[]check]
	buffers    sync.Pool // of *buffer
	crossSite  *http.CrossOriginProtection
	repairs    seen                // requests that failed because the store has to be repaired
	refusals   sync.Map            // of *seen, by reason
	replies    *semaphore.Weighted // memory of large replies
	replyBytes atomic.Int64        // what is in use of it
	inFlight   atomic.Int64        // requests
	began      time.Time
	traffic    map[string]*traffic // by the patterns of the routes
	patterns   []string            // of them, in order
	samples    samples
	shots      look[*snapshot] // of the page
}

var _ http.Handler = (*Server)(nil)

// New returns a server. Errors wrap [coord.ErrInvalid].
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, mux: http.NewServeMux(), admin: http.NewServeMux(),
		fixed:    map[string]http.HandlerFunc{},
		stopping: make(chan struct{}), known: slices.Sorted(maps.Keys(cfg.Generators)),
		crossSite: http.NewCrossOriginProtection(),
		replies:   semaphore.NewWeighted(cfg.MaxReplyBytes), watches: streams{by: map[any]int{}},
		traffic: map[string]*traffic{},
		began:   time.Now(), //nolint:forbidigo // the page has the machine's time
	}
	s.shots.at = s.snapshotNow
	s.checked.at = s.checks
	s.buffers.New = func() any { return new(buffer) }
	for _, name := range s.known {
		s.all = append(s.all, newGenerator(name, &cfg))
	}
	s.routes()
	if err := s.routesRPC(); err != nil {
		return nil, err
	}
	s.patterns = slices.Sorted(maps.Keys(s.traffic))
	if len(cfg.Tokens) > 0 {
		if s.tokens, err = newTokens(cfg.Tokens); err != nil {
			return nil, err
		}
		if _, err := s.tokens.reload(); err != nil {
			reason := err.Error()
			s.unread.Store(&reason)
			s.log.Warn("tokens cannot be read; retrying", "error", err)
		}
	}
	if cfg.Numbers != nil {
		s.store.Store(&store{err: errNotOpen})
	}
	if err := s.measure(); err != nil {
		return nil, err
	}
	return s, nil
}

// measure has Config.Meter show the figures of the server.
func (s *Server) measure() error {
	m := s.cfg.Meter
	if m == nil {
		return nil
	}
	if s.cfg.Numbers != nil {
		m.Store(s.checkStore)
	}
	var read error
	if s.tokens != nil {
		read = m.Gauge("last_reload_timestamp_seconds",
			"When the files of tokens were last read without an error.", s.tokens.read.Load)
	}
	return errors.Join(read,
		m.Gauge("http_requests_in_flight", "Requests that are being answered.", s.inFlight.Load),
		m.Gauge("http_reply_bytes", "Memory of the large replies under way.", s.replyBytes.Load))
}

// observed returns a route whose requests are counted, together with those of other routes of its
// pattern, and logged.
func (s *Server) observed(rt route) route {
	if s.traffic[rt.pattern] == nil {
		s.traffic[rt.pattern] = new(traffic)
	}
	rt.traffic = s.traffic[rt.pattern]
	rt.log = s.log.Handler().WithAttrs([]slog.Attr{slog.String("handler", rt.pattern)})
	return rt
}

// Drain makes the server say that it is not ready, so that balancers send it no more requests. It
// answers those that come all the same, with "Connection: close" so that callers leave connections
// that they keep, and ends the streams of Watch and of the health check. It waits for at most
// 100 ms until the access log is written; from then on, requests wait for their lines.
func (s *Server) Drain() {
	s.drain.Do(func() { close(s.stopping) })
	logs.Flush(s.log)
}

// draining reports whether Drain was called.
func (s *Server) draining() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// Admin returns a handler for an address that operators and probes alone can reach: the page,
// /livez, /readyz, /metrics and /debug/pprof/.
func (s *Server) Admin() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(s.admin, w, r) })
}

// probeRoutes sets up the pages of probes.
func (s *Server) probeRoutes(mux *http.ServeMux) {
	for _, live := range []string{"/healthz", "/livez"} {
		s.route(mux, route{pattern: live, methods: reads}, s.health)
	}
	s.route(mux, route{pattern: "/readyz", methods: reads, takes: []string{"generator", "verbose"}},
		s.ready)
	s.route(mux, route{pattern: "/", right: mayGenerate}, s.unknown)
}

// routes sets up the pages.
func (s *Server) routes() {
	read := func(pattern string, h handler) {
		s.route(s.mux, route{pattern: pattern, methods: reads, right: mayGenerate, takes: none}, h)
	}
	issue := func(pattern string, h handler, more ...string) route {
		rt := route{
			pattern: pattern, methods: issues, right: mayGenerate, issues: true,
			takes: append([]string{"count", "wait"}, more...),
		}
		s.route(s.mux, rt, h)
		return rt
	}
	read("/v1/generators", s.listGenerators)
	read("/v1/generators/{generator}/ids/{id}", s.decode)
	read("/v1/generators/{generator}/layout", s.layout)
	read("/v1/sequences", s.listSequences)
	ids := issue("/v1/generators/{generator}/ids", s.ids)
	for _, g := range s.all {
		s.fixed["/v1/generators/"+g.name+"/ids"] = s.handlerOf(ids,
			func(w http.ResponseWriter, r *request) error { return s.idsOf(g, w, r) })
	}
	issue("/v1/sequences/{tag}/numbers", s.numbers)
	issue("/v1/sequences/{tag}/texts", s.texts, "on")
	if s.cfg.Leaf.Enabled {
		s.leafRoutes()
	}
	for _, mux := range []*http.ServeMux{s.mux, s.admin} {
		s.probeRoutes(mux)
		s.assetRoutes(mux)
		if mux == s.admin || !s.cfg.AdminApart {
			s.operatorRoutes(mux)
		}
	}
	s.profileRoutes(s.admin)
}

// operatorRoutes sets up the page, and that of metrics if there is one.
func (s *Server) operatorRoutes(mux *http.ServeMux) {
	s.route(mux, route{
		pattern: pagePath, methods: reads, right: mayOperate, takes: []string{"id", "worker"},
	}, s.page)
	s.route(mux, route{pattern: "/page/events", methods: reads[:1], right: mayOperate, takes: none},
		s.pageEvents)
	if s.cfg.Metrics != nil {
		s.route(mux, route{pattern: "/metrics", methods: reads, right: mayOperate}, served(s.cfg.Metrics))
	}
}

// profileRoutes adds what package pprof tells of the process.
func (s *Server) profileRoutes(mux *http.ServeMux) {
	for path, h := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol,
		"trace": pprof.Trace,
	} {
		s.route(mux, route{
			pattern: "/debug/pprof/" + path, methods: issues, right: mayOperate, body: true,
		}, served(h))
	}
}

// served is a handler of another package.
func served(h http.Handler) handler {
	return func(w http.ResponseWriter, r *request) error {
		h.ServeHTTP(w, r.Request)
		return nil
	}
}

// hostAllowed reports whether a request means this machine by its Host header. A page of a stranger
// in a browser can have its own name lead here, and then read what comes.
func (s *Server) hostAllowed(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true // it did not come over a network
	}
	addr, ok := local.(*net.TCPAddr)
	if !ok || len(s.cfg.Hosts) == 0 && !addr.IP.IsLoopback() {
		return true
	}
	host := strings.TrimSuffix((&url.URL{Host: r.Host}).Hostname(), ".")
	if addr.IP.IsLoopback() && strings.EqualFold(host, "localhost") {
		return true
	}
	if ip := net.ParseIP(host); ip != nil &&
		(ip.Equal(addr.IP) || ip.IsLoopback() && addr.IP.IsLoopback()) {
		return true
	}
	return slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := s.fixed[r.URL.Path]; ok {
		s.serve(h, w, r)
		return
	}
	s.serve(s.mux, w, r)
}

// unknown answers what is no route.
func (s *Server) unknown(http.ResponseWriter, *request) error {
	return problemf(http.StatusNotFound,
		"there is no such page; GET /v1/generators lists the generators, GET /v1/sequences the tags")
}

// health answers that the process lives.
func (s *Server) health(w http.ResponseWriter, _ *request) error {
	return text(w, http.StatusOK, "ok\n")
}

// text answers with plain text.
func text(w http.ResponseWriter, status int, body string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // who does not read it has gone
	return nil
}
