package redis

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
)

// TestSentinelsTLS: connections to Sentinels and masters are encrypted, with a server whose
// certificate is right.
func TestSentinelsTLS(t *testing.T) {
	ca := certtest.New(t)
	pair := ca.Issue(t)
	cert, err := tls.LoadX509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(ca.Path)
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(pem)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("x")) // which makes the handshake
			_ = conn.Close()
		}
	}()
	addr := l.Addr().String()
	for _, sentinel := range []string{addr, "127.0.0.1:1"} {
		for roots, want := range map[*x509.CertPool]bool{known: true, x509.NewCertPool(): false} {
			s := &sentinels{[]string{sentinel}, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, t.Context()}
			conn, err := s.dial(t.Context(), "tcp", addr)
			if (err == nil) != want {
				t.Errorf("dial: %v; want a connection: %t", err, want)
			}
			if err != nil {
				continue
			}
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			_ = conn.Close()
		}
	}
}
