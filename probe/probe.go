// Package probe answers readiness probes over HTTP, as Kubernetes and load balancers send
// them:
//
//	cfg, err := config.Load("unalike.yaml")
//	if err != nil {
//		return err
//	}
//	ids, err := cfg.Start(ctx)
//	if err != nil {
//		return err
//	}
//	http.Handle("GET /ready", probe.Handler(ids))
//
// It only looks, so that a probe is answered at once, whatever the coordinator does. A
// generator of [core.Start] is not ready at first, and the answer says why.
//
// Use it for readiness alone. A liveness probe that fails makes its program start anew,
// which does not help where the coordinator is away.
package probe

import (
	"errors"
	"io"
	"net/http"
)

// Target is what a probe looks at. Check returns nil if it is ready, or else the reason,
// and does not block. A [core.Generator] is a target.
//
// [core.Generator]: https://pkg.go.dev/github.com/unalike-id/unalike/core#Generator
type Target interface{ Check() error }

// Handler returns a handler that answers 200 while every target is ready, and 503 with
// the reasons, one a line, while one is not. Without targets it answers 200.
func Handler(targets ...Target) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, "a probe is asked with GET or HEAD")
			return
		}
		var reasons []error
		for _, t := range targets {
			reasons = append(reasons, t.Check())
		}
		if err := errors.Join(reasons...); err != nil {
			header.Set("Retry-After", "1")
			answer(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answer(w, http.StatusOK, "ready")
	})
}

// answer writes a status and a line of text.
func answer(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // whoever has gone needs no answer
}
