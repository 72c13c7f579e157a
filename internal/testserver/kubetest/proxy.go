package kubetest

import (
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// Proxy does what 'kubectl proxy' does: whoever reaches it may do everything. It returns its
// address, and ends with the test.
func (s *Server) Proxy(tb testing.TB) (addr string) {
	tb.Helper()
	to, err := url.Parse(s.URL)
	if err != nil {
		tb.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     s.Client(tb, "", nil).Transport,
		FlushInterval: -1,                         // of a watch, each event counts
		ErrorLog:      log.New(io.Discard, "", 0), // clients are told
	}
	server := httptest.NewServer(p)
	tb.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
