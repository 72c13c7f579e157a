package protocol_test

import (
	"log/slog"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

func TestMistypedNamespace(t *testing.T) {
	var names []string
	drivertest.MistypedNamespace(t, func(ns string, log *slog.Logger) coord.Coordinator {
		server := memstore.NewServer("a")
		server.Others = names
		names = append(names, ns)
		c, _ := tap(t, server, nil, func(s *protocol.Settings) { s.Namespace, s.Logger = ns, log })
		return c
	})
}
