package etcdclient_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/etcdclient"
)

// TestConnects: a client connects again and again while a call waits for a server that comes back.
// With longer and longer pauses, so many attempts would take minutes.
func TestConnects(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	const want = 11
	attempts := make(chan struct{}, want)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // it is not up yet
			select {
			case attempts <- struct{}{}:
			default:
			}
		}
	}()
	u, err := driver.ParseURL("etcd://" + l.Addr().String() + "/orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := etcdclient.Config(u, coord.ErrInvalid)
	if err != nil {
		t.Fatal(err)
	}
	client, err := etcdclient.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	go func() {
		for ctx.Err() == nil {
			_, _ = client.Get(ctx, "x") // which fails in the end
		}
	}()
	for n := range want {
		select {
		case <-attempts:
		case <-ctx.Done():
			t.Fatalf("a client has tried to connect %d times in 90 s; want %d", n, want)
		}
	}
}
