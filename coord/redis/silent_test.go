package redis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestSilentSentinel: Close does not wait for a Sentinel that accepts connections and does not
// answer, for which the client alone would wait 10 s.
func TestSilentSentinel(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := open(t, "redis-sentinel://"+l.Addr().String()+"/m/0?namespace=ns")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(within(t))
	time.AfterFunc(500*time.Millisecond, cancel)
	if _, err := c.(coord.AdminCoordinator).Inspect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Inspect, given up: %v", err)
	}
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("Close took %v", took)
	}
}
