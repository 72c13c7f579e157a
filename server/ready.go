package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// check is one of the things that must be well for the server to be ready.
type check struct {
	name string
	err  error
}

// checks looks at everything that must be well.
func (s *Server) checks() []check {
	all := make([]check, 0, len(s.known)+1)
	for _, g := range s.all {
		all = append(all, check{"generator " + g.name, g.Check()})
	}
	if s.store.Load() != nil {
		all = append(all, check{"store", s.checkStore()})
	}
	return all
}

// isReady reports whether a server with these checks is ready, as far as they go.
func (s *Server) isReady(all []check) bool {
	well := 0
	for _, c := range all {
		if c.err == nil {
			well++
		}
	}
	return well == len(all) || s.cfg.AnyReady && well > 0
}

// Ready returns nil if the server is ready, as /readyz has it, and otherwise what is not, and why.
// It never waits.
func (s *Server) Ready() error {
	all := s.checks()
	switch {
	case s.draining():
		return errors.New("stopping")
	case s.isReady(all):
		return nil
	}
	var errs []error
	for _, c := range all {
		if c.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, c.err))
		}
	}
	return errors.Join(errs...)
}

// ready answers whether the server is ready, or one generator, and names what is not and why.
func (s *Server) ready(w http.ResponseWriter, r *request) error {
	q := r.query
	all := s.checks()
	if q.Has("generator") {
		g, err := s.named(q.Get("generator"))
		if err != nil {
			return err
		}
		all = []check{{"generator " + g.name, g.Check()}}
	}
	var lines strings.Builder
	if s.draining() {
		lines.WriteString("stopping\n")
	}
	well := s.isReady(all)
	for _, c := range all {
		if q.Has("verbose") || !well && c.err != nil { //mutant:ready-names
			lines.WriteString(c.name + ": " + whyNot(c.err, r.detailed()) + "\n")
		}
	}
	if well && !s.draining() {
		return text(w, http.StatusOK, cmp.Or(lines.String(), "ready\n"))
	}
	return text(w, http.StatusServiceUnavailable, lines.String())
}

// whyNot says in a line why something is not ready. Only who may operate reads what errors name.
func whyNot(err error, detailed bool) string {
	switch {
	case err == nil:
		return "ready"
	case detailed:
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return cmp.Or(problemOf(err, false).Detail, "not ready")
}
