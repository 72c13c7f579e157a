package kubetest

import (
	"crypto/rand"
	"crypto/rsa"
	"testing"
)

// StartOn is Start over an etcd of the caller's, at host:port.
func StartOn(tb testing.TB, etcd string) *Server {
	tb.Helper()
	Binary(tb)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	return start(tb, nil, etcd, key)
}

// Done is closed when the API server is gone; after Restart it is another channel.
func (s *Server) Done() <-chan struct{} { return s.proc.Done() }
