package client_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/coord/coordtest"
)

// TestFrozen: a server that takes requests and never answers costs one wait now and then, and not every second request.
func TestFrozen(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	a, b := serve(t, f, "x"), serve(t, f, "x")
	var asked atomic.Int64
	frozen := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // then the context ends with the connection
		<-r.Context().Done()
	})
	a.fault.Store(&frozen)
	c := newClient(t, client.Options{Prefetch: 10, Timeout: time.Minute, MaxAge: time.Hour}, a, b)
	start := time.Now()
	for range 200 {
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n, most := asked.Load(), 2+int64(time.Since(start)/(5*time.Second)); n == 0 || n > most {
		t.Errorf("the frozen server was asked %d times, want at most %d", n, most)
	}
}
