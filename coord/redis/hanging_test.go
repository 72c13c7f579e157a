package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestCancelWhileHanging: a call ends when its context is cancelled, although the
// client waits for an answer and does not notice that.
func TestCancelWhileHanging(t *testing.T) {
	t.Parallel()
	proxy := proxytest.Start(t, redistest.Start(t, redistest.Options{}).Addr)
	client := goredis.NewClient(&goredis.Options{
		Addr: proxy.Addr, MaxRetries: -1, ContextTimeoutEnabled: true, Protocol: 2,
		ReadTimeout: 2 * patience, // the call is not over by itself
	})
	t.Cleanup(func() { _ = client.Close() })
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	mustAcquire(t, c, request(1)) // connected
	proxy.Hang()
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	time.AfterFunc(time.Second, cancel)
	if _, err := c.Acquire(ctx, request(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire, cancelled: %v", err)
	}
	if took := time.Since(began); took > callTime {
		t.Errorf("Acquire, cancelled after a second, took %v", took)
	}
}
