package kubetest

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Balancer leads each new connection to another one of several API servers, and knows nothing of them.
type Balancer struct {
	URL string

	targets []string
	next    atomic.Int64
	passed  []atomic.Int64
}

// Passed is how many connections were led to a server, in the order in which they were given.
func (b *Balancer) Passed(n int) int64 { return b.passed[n].Load() }

// Balance runs a balancer that ends with the test.
func Balance(tb testing.TB, servers ...*Server) *Balancer {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	b := &Balancer{URL: "https://" + l.Addr().String(), passed: make([]atomic.Int64, len(servers))}
	for _, s := range servers {
		b.targets = append(b.targets, strings.TrimPrefix(s.URL, "https://"))
	}
	var work sync.WaitGroup
	ctx, end := context.WithCancel(context.Background())
	tb.Cleanup(work.Wait)
	tb.Cleanup(end)
	tb.Cleanup(func() { _ = l.Close() })
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { b.pass(ctx, conn) })
		}
	})
	return b
}

// pass copies what is said on a connection.
func (b *Balancer) pass(ctx context.Context, near net.Conn) {
	defer func() { _ = near.Close() }()
	n := int(b.next.Add(1)-1) % len(b.targets)
	far, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.targets[n])
	if err != nil {
		return
	}
	b.passed[n].Add(1)
	defer func() { _ = far.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
		both.Go(func() {
			_, _ = io.Copy(to, from)
			_, _ = near.Close(), far.Close()
		})
	}
	both.Wait()
}
