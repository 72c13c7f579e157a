package etcd_test

import (
	"log/slog"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

func TestMistypedNamespace(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	drivertest.MistypedNamespace(t, func(ns string, log *slog.Logger) coord.Coordinator {
		c, err := etcd.New(server.Client(t), ns, etcd.Options{Logger: log})
		return drivertest.Closing(t, c, err)
	})
}
