package zk_test

import (
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestGeneratorOfASlowEnsemble: no Next fails while answers are late, always and once by
// three times as much: renewals get through however late answers are.
func TestGeneratorOfASlowEnsemble(t *testing.T) {
	fulltest.Long(t, "answers that take seconds")
	t.Parallel()
	proxy := proxytest.Start(t, zktest.Start(t, zktest.Options{}).Addr)
	streamtest.Slow(t, newCoordinator(t, []string{proxy.Addr}, rand.Text(), nil), proxy.Delay)
}
