package core_test

import (
	"log/slog"
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the tests that read a log give one
	leaktest.Main(withExamples{m})
}

// withExamples are tests that close what the examples among them have not.
type withExamples struct{ *testing.M }

// Run implements [leaktest.Tests].
func (m withExamples) Run() int {
	code := m.M.Run()
	for _, f := range cleanups {
		f()
	}
	return code
}
