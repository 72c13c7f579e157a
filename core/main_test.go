package core_test

import (
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(withExamples{m}) }

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
