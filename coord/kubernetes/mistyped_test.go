package kubernetes_test

import (
	"log/slog"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
)

func TestMistypedNamespace(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	drivertest.MistypedNamespace(t, func(ns string, log *slog.Logger) coord.Coordinator {
		return cluster.new(t, ns, kubernetes.Options{Logger: log})
	})
}
