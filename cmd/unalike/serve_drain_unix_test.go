//go:build unix

package main

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestServeDrainKept: whoever keeps a connection is told during the drain to leave it, so that no request meets one that
// is closed.
func TestServeDrainKept(t *testing.T) {
	t.Parallel()
	const clients = 16
	s := startServe(t, "--coordinator", "static://?worker=12", "--drain", "3s")
	s.await("/readyz", "", isOK)
	var answered, closed atomic.Int64
	var all sync.WaitGroup
	kept := make(chan struct{}, clients)
	for range clients {
		all.Go(func() {
			transport := &http.Transport{MaxConnsPerHost: 1}
			defer transport.CloseIdleConnections()
			for n := 0; ; n++ {
				told, err := drawOnce(t.Context(), transport, s.url)
				if err != nil {
					t.Errorf("request %d of a connection is lost: %v", n, err)
					return
				}
				if answered.Add(1); told {
					closed.Add(1)
					return
				}
				if n == 1 {
					kept <- struct{}{}
				}
				pauseFor(t.Context(), 20*time.Millisecond)
			}
		})
	}
	for range clients {
		<-kept
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, s.stderr.String())
	}
	if closed.Load() != clients {
		t.Errorf("%d of %d connections were told to close", closed.Load(), clients)
	}
	t.Logf("%d requests answered, %d connections told to close", answered.Load(), closed.Load())
}

// drawOnce draws an ID with a POST, which net/http does not send a second time, and reports whether the connection is to
// be closed.
func drawOnce(ctx context.Context, transport *http.Transport, url string) (told bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/generators/default/ids", http.NoBody)
	if err != nil {
		return false, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.Close, err
}
