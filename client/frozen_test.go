package client_test

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// TestFrozen: a server that takes requests and never answers costs one wait now and then, and not
// every second request.
func TestFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frozen := newPaced(time.Hour)
		c := network{"a": frozen, "b": newStub(1, "n")}.client(t, stocks(10), "a", "b")
		start := time.Now()
		take(t, c, 2000, 10*time.Millisecond)
		if n, most := len(frozen.counts()), 2+int(time.Since(start)/(5*time.Second)); n == 0 || n > most {
			t.Errorf("the frozen server was asked %d times, want at most %d", n, most)
		}
	})
}

// TestForgottenConnection: a machine on the way forgets a connection of HTTP/2, and tells nobody.
// The client leaves it for a new one.
func TestForgottenConnection(t *testing.T) {
	t.Parallel()
	files := certtest.NewSet(t)
	pair, err := tls.LoadX509KeyPair(files.Server.Cert, files.Server.Key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(newStub(1, "n"))
	s.EnableHTTP2, s.TLS = true, &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	t.Cleanup(s.Close)
	proxy := proxytest.Start(t, s.Listener.Addr().String())
	c, err := client.New([]string{"https://" + proxy.Addr}, client.Options{
		CA: files.CA, Timeout: time.Minute, Prefetch: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}
	proxy.Forget()
	for range 10 {
		if _, err := c.Next(); err != nil {
			t.Fatalf("after the connection was forgotten: %v", err)
		}
	}
	if n := proxy.Connections(); n != 2 {
		t.Errorf("the client has made %d connections, want 2", n)
	}
}
