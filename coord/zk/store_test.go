package zk

import (
	"crypto/rand"
	"log/slog"
	"testing"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// newStore returns a store without a coordinator, that ends with the test.
func newStore(tb testing.TB, server *zktest.Server) *store {
	tb.Helper()
	namespace := rand.Text()
	life := lifetime.Begin("zookeeper", namespace)
	tb.Cleanup(life.End)
	return &store{
		servers: []string{server.Addr}, nodes: newFolder("", namespace), log: slog.New(slog.DiscardHandler),
		acl: client.WorldACL(client.PermAll), life: life,
	}
}

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	storetest.Run(t, func(tb testing.TB) storetest.Harness {
		tb.Helper()
		return storetest.Harness{Store: newStore(tb, server)}
	})
}
