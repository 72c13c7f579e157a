package redis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// TestSilentSentinel: Close does not wait for a Sentinel that accepts connections and does not answer, for which the client
// alone would wait 10 s.
func TestSilentSentinel(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				asked <- conn
			}
		}
	}()
	c, err := coord.Open(within(t), "redis-sentinel://"+l.Addr().String()+"/m/0?namespace=ns", coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		conn := <-asked
		defer conn.Close()
		cancel()
		_, _ = conn.Read(make([]byte, 1<<10)) // until the client hangs up
		for err := error(nil); err == nil; {
			_, err = conn.Read(make([]byte, 1<<10))
		}
	}()
	if _, err := c.(coord.Admin).Inspect(ctx); !errors.Is(err, context.Canceled) {
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
