package backend_test

import (
	"os"
	"testing"

	"github.com/unalike-id/unalike/faults/backend"
)

func TestMain(m *testing.M) {
	backend.Main()
	os.Exit(m.Run())
}
