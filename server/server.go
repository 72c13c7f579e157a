package server

import (
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/unalike-id/unalike/internal/drivers"
)

// Server is an http.Handler that hands out IDs. Make it with [New].
type Server struct {
	cfg Config
	log *slog.Logger
	mux *http.ServeMux
	// procedures are the routes whose path is one procedure.
	procedures map[string]http.HandlerFunc
	known      []string // the names of the generators, in order
	set        atomic.Pointer[Numbers]
	segments   atomic.Bool   // there is, or will be, a set
	stopping   chan struct{} // closed by Drain
	drain      sync.Once
	spaces     map[string]*space // by the names of the generators
	watches    atomic.Int32      // streams of Watch
	healths    atomic.Int32      // and of the health check, which everybody may have
	buffers    sync.Pool         // of *buffer
}

var _ http.Handler = (*Server)(nil)

// New returns a server. Errors wrap [ErrInvalidConfig].
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Logger, mux: http.NewServeMux(), procedures: map[string]http.HandlerFunc{}, stopping: make(chan struct{}), spaces: map[string]*space{}}
	s.buffers.New = func() any { return new(buffer) }
	for name, g := range cfg.Generators {
		s.known = append(s.known, name)
		s.spaces[name] = newSpace(g)
	}
	slices.Sort(s.known)
	s.routes()
	if err := s.routesRPC(); err != nil {
		return nil, err
	}
	return s, nil
}

// Sequences serves the tags of set from now on. A nil set says that there will be one: until then,
// requests for numbers are answered with 503, and the server is not ready; before the first call, with 404.
func (s *Server) Sequences(set Numbers) {
	s.segments.Store(true)
	if !drivers.IsNil(set) {
		s.set.Store(&set)
	}
}

// Drain makes the server say that it is not ready, so that balancers send it no more requests. It
// answers those that come all the same, with "Connection: close" so that callers leave connections
// that they keep, and ends the streams of Watch and of the health check.
func (s *Server) Drain() { s.drain.Do(func() { close(s.stopping) }) }

// draining reports whether Drain was called.
func (s *Server) draining() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// methods of the routes.
const (
	reads  = "GET, HEAD"
	issues = "GET, POST" // not HEAD, whose answer has no IDs
	every  = ""
)

// routes sets up the table of routes.
func (s *Server) routes() {
	s.route("/v1/generators", reads, Generate, s.listGenerators)
	s.route("/v1/generators/{generator}/ids", issues, Generate, s.ids)
	s.route("/v1/generators/{generator}/ids/{id}", reads, Generate, s.decode)
	s.route("/v1/generators/{generator}/layout", reads, Generate, s.layout)
	s.route("/v1/sequences", reads, Generate, s.listSequences)
	s.route("/v1/sequences/{tag}/numbers", issues, Generate, s.numbers)
	s.route("/healthz", reads, anyone, s.health)
	s.route("/readyz", reads, anyone, s.ready)
	if s.cfg.Metrics != nil {
		s.route("/metrics", reads, Operate, s.metrics)
	}
	if s.cfg.Leaf.Enabled {
		right := Generate
		if s.cfg.Leaf.Anyone {
			right = anyone
		}
		s.leafRoute("/api/snowflake/get/{key}", right, s.leafSnowflake)
		s.leafRoute("/api/segment/get/{key}", right, s.leafSegment)
		s.leafRoute("/decodeSnowflakeId", right, s.leafDecode)
		s.route("/cache", reads, Operate, s.leafCache)
		s.route("/db", reads, Operate, s.leafDB)
	}
	s.route("/", every, Generate, s.unknown)
}

// request is what a handler works with.
type request struct {
	*http.Request
	may Right // what the caller may do
}

// handler answers a request, or returns an error that is answered with a problem.
type handler func(w http.ResponseWriter, r *request) error

// route adds a route. Methods are what is allowed, as the header Allow has it; empty: all.
func (s *Server) route(pattern, methods string, right Right, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, hr *http.Request) {
		r := &request{Request: hr}
		if err := s.admit(w, r, methods, right); err != nil {
			err.write(w)
			return
		}
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail answers with a problem.
func (s *Server) fail(w http.ResponseWriter, r *request, err error) {
	s.problem(r.Pattern, err, r.may&Operate != 0).write(w)
}

// Values of headers that many answers share. Nobody changes them.
var (
	noStore = []string{"no-store"}
	noSniff = []string{"nosniff"}
)

// allows reports whether a method is one of those of a route.
func allows(methods, method string) bool {
	for m := range strings.SplitSeq(methods, ", ") {
		if m == method {
			return true
		}
	}
	return false
}

// admit checks what is the same for all routes, and sets what every answer has.
func (s *Server) admit(w http.ResponseWriter, r *request, methods string, right Right) *problem {
	h := w.Header()
	h["Cache-Control"] = noStore // a proxy that coalesces would hand one body to two callers
	h["X-Content-Type-Options"] = noSniff
	if !s.hostAllowed(r.Request) {
		return problemf(http.StatusMisdirectedRequest, "the Host header is not that of this machine; if it is right, add it to the hosts that are allowed")
	}
	r.may = Generate | Operate
	if s.cfg.Tokens != nil {
		var ok bool
		r.may, ok = s.cfg.Tokens.rightsOf(r.Request)
		switch {
		case right == anyone:
		case !ok:
			return problemf(http.StatusUnauthorized, "a token is needed that is known here; send it as Authorization: Bearer TOKEN")
		case r.may&right == 0:
			return problemf(http.StatusForbidden, "this token does not give the right to do that")
		}
	}
	if methods != every && !allows(methods, r.Method) {
		p := problemf(http.StatusMethodNotAllowed, "allowed are %s", methods)
		p.allow = methods
		return p
	}
	if r.ContentLength > maxBody {
		return problemf(http.StatusRequestEntityTooLarge, "the body has more than %d bytes; parameters go in the URL", maxBody)
	}
	if r.ContentLength < 0 && r.Body != nil { // otherwise it ends there by itself
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	return nil
}

// hostAllowed reports whether a request that came to a loopback address means this machine. A page
// of a stranger in a browser here can have its own name lead to 127.0.0.1, and then read what comes.
func (s *Server) hostAllowed(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true // it did not come over a network
	}
	addr, ok := local.(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return true
	}
	host := r.Host
	if strings.IndexByte(host, ':') >= 0 {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.draining() {
		w.Header().Set("Connection", "close") // over HTTP/2, net/http makes a GOAWAY of it
	}
	if h, ok := s.procedures[r.URL.Path]; ok { // sooner than a search among patterns
		h(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// unknown answers what is no route.
func (s *Server) unknown(http.ResponseWriter, *request) error {
	return problemf(http.StatusNotFound, "there is no such page; GET /v1/generators lists the generators, GET /v1/sequences the tags")
}

// health answers that the process lives.
func (s *Server) health(w http.ResponseWriter, _ *request) error {
	return text(w, http.StatusOK, "ok\n")
}

// ready answers whether every generator can issue, and the store of the tags, if there is one, gives numbers.
func (s *Server) ready(w http.ResponseWriter, r *request) error {
	if why := s.notReady(r.may&Operate != 0); why != "" {
		return text(w, http.StatusServiceUnavailable, why)
	}
	return text(w, http.StatusOK, "ready\n")
}

// notReady says why the server is not ready, in lines; empty: it is. Only who may operate sees names
// and errors.
func (s *Server) notReady(detailed bool) string {
	var reasons strings.Builder
	if s.draining() {
		reasons.WriteString("stopping\n")
	}
	add := func(what, bare string, err error) {
		switch {
		case err == nil:
		case detailed:
			reasons.WriteString(what + ": " + strings.ReplaceAll(err.Error(), "\n", "; ") + "\n")
		default:
			reasons.WriteString(bare + "\n")
		}
	}
	for _, name := range s.known {
		add(name, "a generator is not ready", s.cfg.Generators[name].Check())
	}
	add("store", "the store is not ready", s.CheckStore())
	return reasons.String()
}

// metrics answers with metrics.
func (s *Server) metrics(w http.ResponseWriter, r *request) error {
	s.cfg.Metrics.ServeHTTP(w, r.Request)
	return nil
}

// text answers with plain text.
func text(w http.ResponseWriter, status int, body string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // who does not read it has gone
	return nil
}
