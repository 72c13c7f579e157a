package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/client"
)

// says answers everything with a status.
func says(status int) *http.HandlerFunc {
	h := http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request,
	) {
		http.Error(w, "not you", status)
	})
	return &h
}

// page is no answer of a server of unalike.
var page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	_,
		_ = w.Write([]byte("<html>"))
})

// TestRedirects: no redirect is followed, whoever's HTTP client it is, so that no token goes to
// another host.
func TestRedirects(t *testing.T) {
	var followed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		followed.Add(1)
		t.Errorf("%s with %q", r.Method, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, theirs := range map[string]*http.Client{
			"its own": nil, "the program's": {Transport: http.DefaultTransport.(*http.Transport).Clone()},
		} {
			to := strings.Replace(other.URL, "://", "://user:hidden@", 1) + "/"
			a := httptest.NewServer(http.RedirectHandler(to, status))
			c, err := client.New([]string{a.URL},
				client.Options{Token: "secret-word", HTTP: theirs, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Next()
			want := fmt.Sprintf("redirects to %q", other.Listener.Addr())
			if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "hidden") {
				t.Errorf("%d, %s: %v", status, name, err)
			}
			_ = c.Close()
			if theirs != nil {
				if theirs.CloseIdleConnections(); theirs.CheckRedirect != nil {
					t.Error("the program's client was changed")
				}
			}
			a.Close()
		}
	}
}

// TestOneRefuses: a server that is set up wrongly does not stop one that is not, and is asked now
// and then.
func TestOneRefuses(t *testing.T) {
	for name, fault := range map[string]*http.HandlerFunc{
		"401": says(401), "403": says(403),
		"404": says(404), "a page": &page,
	} {
		a, b := two(t)
		a.fault.Store(fault)
		c := newClient(t, stocks(10), a, b)
		start := time.Now()
		for range 200 {
			if _, err := c.Next(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if n, most := a.requests.Load(), 2+int64(time.Since(start)/(5*time.Second)); n == 0 || n > most {
			t.Errorf("%s: it was asked %d times, want at most %d", name, n, most)
		}
	}
}

// TestAllRefuse: it is said at once, with what each has said; so is a request that all take for a
// bad one.
func TestAllRefuse(t *testing.T) {
	for _, statuses := range [][2]int{{401, 404}, {400, 400}} {
		a, b := two(t)
		a.fault.Store(says(statuses[0]))
		b.fault.Store(says(statuses[1]))
		_, err := newClient(t, patient, a, b).Next()
		want := func(e *endpoint, status int) bool {
			said := fmt.Sprintf("%d %s: not you", status, http.StatusText(status))
			return strings.Contains(err.Error(), e.Listener.Addr().String()+": ") &&
				strings.Contains(err.Error(), said)
		}
		if !errors.Is(err, client.ErrRefused) || !want(a, statuses[0]) || !want(b, statuses[1]) {
			t.Errorf("%v: %v", statuses, err)
		}
		if na, nb := a.requests.Load(), b.requests.Load(); na != 1 || nb != 1 {
			t.Errorf("%v: %d and %d requests", statuses, na, nb)
		}
	}
}

// TestRefusedAndAway: while one server is away the refusal of another is not final, and both are
// told.
func TestRefusedAndAway(t *testing.T) {
	for _, refusing := range []int{0, 1} {
		a, b := two(t) // which no other client has asked
		all := []*endpoint{a, b}
		all[refusing].fault.Store(says(403))
		all[1-refusing].fault.Store(says(503))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for all[0].requests.Load() < 2 && ctx.Err() == nil { // with the second one, all have answered
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		c := newClient(t, client.Options{}, all...)
		_, err := c.NextContext(ctx)
		if !errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrRefused) ||
			!strings.Contains(err.Error(), "403 ") || !strings.Contains(err.Error(), "503 ") {
			t.Errorf("number %d refuses: %v", refusing, err)
		}
		cancel()
		all[1-refusing].fault.Store(nil)
		if _, err := c.NextContext(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}
