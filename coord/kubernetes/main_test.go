package kubernetes_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
)

func TestMain(m *testing.M) {
	leaktest.Main(kubetest.Sharing{Tests: m})
}
