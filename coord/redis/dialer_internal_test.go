package redis

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/tlsfiles"
)

// TestDialerTLS: connections to Sentinels and masters are encrypted, with a server whose
// certificate is right.
func TestSentinelsTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	addr := server.Listener.Addr().String()
	known := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(known, pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: server.Certificate().Raw,
	}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sentinel := range []string{addr, "127.0.0.1:1"} {
		for ca, want := range map[string]bool{known: true, "": false} {
			d := &dialer{&tlsfiles.Files{CA: ca}, t.Context(), []string{sentinel}}
			conn, err := d.dial(t.Context(), "tcp", addr)
			if (err == nil) != want {
				t.Errorf("dial: %v; want a connection: %t", err, want)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	}
}
