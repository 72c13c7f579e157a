package redis

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSentinelsTLS: connections to Sentinels and masters are encrypted, with a server whose
// certificate is right.
func TestSentinelsTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	addr := server.Listener.Addr().String()
	known := server.Client().Transport.(*http.Transport).TLSClientConfig
	for _, sentinel := range []string{addr, "127.0.0.1:1"} {
		for config, want := range map[*tls.Config]bool{
			known:                          true,
			{MinVersion: tls.VersionTLS12}: false,
		} {
			s := &sentinels{[]string{sentinel}, config, t.Context()}
			conn, err := s.dial(t.Context(), "tcp", addr)
			if (err == nil) != want {
				t.Errorf("dial: %v; want a connection: %t", err, want)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	}
}
