package zk

import (
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// liveStore returns a store without a coordinator, that ends with the test.
func liveStore(tb testing.TB, server *zktest.Server) *store {
	tb.Helper()
	namespace := rand.Text()
	st := newStore([]string{server.Addr}, namespace, Options{Logger: slog.New(slog.DiscardHandler)})
	st.life = lifetime.Begin("zookeeper", namespace)
	tb.Cleanup(st.life.End)
	return st
}

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	conn, _, err := client.Connect([]string{server.Addr}, 20*time.Second,
		client.WithLogger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	storetest.Run(t, func(tb testing.TB) storetest.Harness {
		tb.Helper()
		st := liveStore(tb, server)
		return storetest.Harness{Store: st, Count: func(tb testing.TB) int {
			tb.Helper()
			return nodes(tb, conn, st.nodes.space)
		}, Writes: func(tb testing.TB) int64 {
			tb.Helper()
			_, stat, err := conn.Get(st.nodes.clock())
			if err != nil {
				tb.Fatal(err)
			}
			return int64(stat.Version)
		}}
	})
}

// nodes counts a node and those below it.
func nodes(tb testing.TB, conn *client.Conn, path string) int {
	tb.Helper()
	names, _, err := conn.Children(path)
	if err != nil {
		tb.Fatal(err)
	}
	n := 1
	for _, name := range names {
		n += nodes(tb, conn, path+"/"+name)
	}
	return n
}
