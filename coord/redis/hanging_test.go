package redis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// signalling is a connection that tells when something was sent.
type signalling struct {
	net.Conn
	sent chan<- struct{}
}

func (s signalling) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	select {
	case s.sent <- struct{}{}:
	default:
	}
	return n, err
}

// TestCancelWhileHanging: a call ends when its context is cancelled, although the
// client waits for an answer and does not notice that.
func TestCancelWhileHanging(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	proxy := proxytest.Start(t, server.Addr)
	sent := make(chan struct{}, 1)
	client := goredis.NewClient(&goredis.Options{
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", proxy.Addr)
			return signalling{conn, sent}, err
		},
		MaxRetries: -1, ContextTimeoutEnabled: true, Protocol: 2,
		ReadTimeout: 2 * patience, // the call is not over by itself
	})
	t.Cleanup(func() { _ = client.Close() })
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	mustAcquire(t, c, request(1)) // connected
	for len(sent) > 0 {
		<-sent
	}
	proxy.Hang()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.Acquire(ctx, request(1)); done <- err }()
	<-sent
	began := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire, cancelled: %v", err)
	}
	if took := time.Since(began); took > callTime {
		t.Errorf("Acquire ended %v after it was cancelled", took)
	}
}
