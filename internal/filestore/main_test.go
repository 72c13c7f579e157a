package filestore

import (
	"fmt"
	"os"
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashPath) != "" {
		fmt.Println(crash())
		return
	}
	leaktest.Main(m)
}
