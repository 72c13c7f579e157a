package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// route is a page or a procedure.
type route struct {
	pattern string
	methods []string // nil: all
	right   right    // what the caller must be allowed
	issues  bool     // it hands out IDs or numbers
	takes   []string // the parameters that there are; nil: all are let through
	body    bool     // it reads a body
	traffic *traffic // counts its requests
	log     slog.Handler
}

// methods of the routes.
var (
	reads  = []string{http.MethodGet, http.MethodHead}
	issues = []string{http.MethodGet, http.MethodPost} // not HEAD, whose answer has no IDs
)

// none is the parameters of a route that has none.
var none = []string{}

// request is what a handler works with.
type request struct {
	*http.Request
	answer answer
	query  url.Values // nil: there is none, or the route takes any
	caller caller
	id     [1]string // as X-Request-Id has it
	held   int64     // bytes of the reply that count
	buffer *buffer   // nil: it has needed none
}

// requestKey is the key of the request, in the context of a procedure.
type requestKey struct{}

// requestOf returns the request of a procedure.
func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// detailed reports whether the caller may read what errors name.
func (r *request) detailed() bool { return r.caller.may&mayOperate != 0 }

// answer is the answer to a request, with its status.
type answer struct {
	http.ResponseWriter
	of     *request
	status int // 0: none yet
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.says(status)
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.says(http.StatusOK)
	return a.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// says notes the status. The first one counts: gRPC's errors are behind an OK.
func (a *answer) says(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// handler answers a request, or returns an error that is answered with a problem.
type handler func(w http.ResponseWriter, r *request) error

// route adds a page.
func (s *Server) route(mux *http.ServeMux, rt route, h handler) {
	mux.HandleFunc(rt.pattern, s.handlerOf(rt, h))
}

// handlerOf returns the handler of a page.
func (s *Server) handlerOf(rt route, h handler) http.HandlerFunc {
	rt = s.observed(rt)
	return func(w http.ResponseWriter, _ *http.Request) {
		s.handle(&rt, w, func(r *request) {
			err := s.admit(&rt, r)
			if err == nil {
				err = h(&r.answer, r)
			}
			if err != nil {
				s.problem(rt.pattern, err, r.detailed()).write(&r.answer)
			}
		})
	}
}

// handle has a request answered, and counts it.
func (s *Server) handle(rt *route, w http.ResponseWriter, h func(r *request)) {
	r := w.(*answer).of //nolint:forcetypeassert // serve has made it
	begun := time.Now() //nolint:forbidigo // how long requests take is no matter of IDs
	s.inFlight.Add(1)
	s.identify(r)
	defer func() {
		s.inFlight.Add(-1)
		s.release(r)
		s.answered(rt, r, begun)
	}()
	h(r)
}

// Values of headers that many answers share. Nobody changes them.
var (
	noStore = []string{"no-store"}
	noSniff = []string{"nosniff"}
	closing = []string{"close"}
)

// unreadTime is how long a refused request may take to send its body.
const unreadTime = time.Second

// admit checks what is the same for all routes, and sets what every answer has. A refusal does not
// wait for the body, of which net/http would read 256 KiB over HTTP/1 first.
func (s *Server) admit(rt *route, r *request) error {
	err := s.check(rt, r)
	if err != nil && r.ContentLength != 0 && r.ProtoMajor == 1 { //mutant:refused-body
		r.answer.Header()["Connection"] = closing
		end := time.Now().Add(unreadTime) //nolint:forbidigo // connections have the machine's time
		_ = http.NewResponseController(&r.answer).SetReadDeadline(end)
	}
	return err
}

// check returns the problem of a request that is not admitted.
func (s *Server) check(rt *route, r *request) error {
	h := r.answer.Header()
	h["Cache-Control"] = noStore // a proxy that coalesces would hand one body to two callers
	h["X-Content-Type-Options"] = noSniff
	if !s.hostAllowed(r.Request) { //mutant:hosts
		return refusal("host", http.StatusMisdirectedRequest, "the Host header is not that of this "+
			"machine; if it is right, add it to the hosts that are allowed")
	}
	if err := s.authorize(rt.right, r); err != nil {
		return err
	}
	if rt.methods != nil && !slices.Contains(rt.methods, r.Method) {
		allowed := strings.Join(rt.methods, ", ")
		h.Set("Allow", allowed)
		return problemf(http.StatusMethodNotAllowed, "allowed are %s", allowed)
	}
	if rt.issues && s.ofStranger(r.Request) { //mutant:strangers
		return refusal("cross_site", http.StatusForbidden,
			"IDs and numbers are not for pages of other sites, nor for what a browser fetches ahead")
	}
	if rt.takes != nil && r.URL.RawQuery != "" {
		if err := readQuery(r, rt.takes); err != nil {
			return err
		}
	}
	return s.admitBody(rt, r)
}

// authorize checks what the caller may do.
func (s *Server) authorize(needed right, r *request) error {
	switch {
	case s.tokens == nil || needed == anyone:
		return nil
	case r.caller.may == anyone:
		return refusal("unauthorized", http.StatusUnauthorized,
			"a token is needed that is known here; send it as Authorization: Bearer TOKEN")
	case r.caller.may&needed == 0:
		return refusal("forbidden", http.StatusForbidden, "this token does not give the right to do that")
	}
	return nil
}

// ofStranger reports whether a browser says that another site has made it ask, or that nobody has
// asked yet.
func (s *Server) ofStranger(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return s.crossSite.Check(r) != nil || site != "" && site != "same-origin" && site != "none" ||
		strings.HasPrefix(r.Header.Get("Sec-Purpose"), "prefetch")
}

// readQuery reads the query, and refuses parameters that a route does not have.
func readQuery(r *request, known []string) (err error) {
	if r.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		// url.URL.Query would leave out what it cannot read
		return problemf(http.StatusBadRequest,
			"the query cannot be read; it has the form name=value, or several of those with & between them")
	}
	for name := range r.query {
		if slices.Contains(known, name) { //mutant:mistyped
			continue
		}
		return problemf(http.StatusBadRequest, "the parameter %.40q is not known; known are %s", name,
			cmp.Or(strings.Join(known, ", "), "none"))
	}
	return nil
}

// admitBody bounds a body, and refuses one where none is read.
func (s *Server) admitBody(rt *route, r *request) error {
	if r.ContentLength > maxBody {
		return problemf(http.StatusRequestEntityTooLarge,
			"the body has more than %d bytes; parameters go in the URL", maxBody)
	}
	if r.ContentLength < 0 && r.Body != nil { // otherwise it ends there by itself
		r.Body = http.MaxBytesReader(&r.answer, r.Body, maxBody)
	}
	if rt.body || rt.takes == nil || r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	if _, err := io.ReadFull(r.Body, make([]byte, 1)); errors.Is(err, io.EOF) {
		return nil
	}
	return problemf(http.StatusBadRequest, "a body is not read here; parameters go in the URL")
}
