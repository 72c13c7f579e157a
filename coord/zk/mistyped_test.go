package zk_test

import (
	"log/slog"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

func TestMistypedNamespace(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	drivertest.MistypedNamespace(t, func(ns string, log *slog.Logger) coord.Coordinator {
		return newCoordinator(t, []string{server.Addr}, ns, &zk.Options{Logger: log})
	})
}
