package probe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/probe"
)

// target is what it says.
type target struct{ error }

func (t target) Check() error { return t.error }

func TestHandler(t *testing.T) {
	ready, away, notOpen := target{}, target{errors.New("coordinator away")},
		target{errors.New("not open")}
	for name, tt := range map[string]struct {
		method  string
		targets []probe.Target
		status  int
		body    string
	}{
		"ready":         {"GET", []probe.Target{ready, ready}, 200, "ready\n"},
		"nothing":       {"GET", nil, 200, "ready\n"},
		"head":          {"HEAD", []probe.Target{ready}, 200, "ready\n"},
		"one of two":    {"GET", []probe.Target{ready, away}, 503, "coordinator away\n"},
		"both":          {"GET", []probe.Target{notOpen, away}, 503, "not open\ncoordinator away\n"},
		"head, not yet": {"HEAD", []probe.Target{notOpen}, 503, "not open\n"},
		"changes":       {"POST", []probe.Target{ready}, 405, "a probe is asked with GET or HEAD\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			probe.Handler(tt.targets...).ServeHTTP(w, httptest.NewRequest(tt.method, "/ready", http.NoBody))
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, tt.status, tt.body)
			}
			if h := w.Header(); h.Get("Cache-Control") != "no-store" ||
				(h.Get("Retry-After") != "") != (tt.status == 503) ||
				(h.Get("Allow") != "") != (tt.status == 405) {
				t.Errorf("the header is %v", h)
			}
		})
	}
}

func TestHandlerFollowsAGenerator(t *testing.T) {
	g := coretest.New(t)
	h := probe.Handler(g)
	for _, want := range []string{"200 ready", "503 core: generator closed"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/ready", http.NoBody))
		if got := strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Body)); got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}
