// Package fulltest says how long tests are: those that take long are left out of `make test`, which
// sets -short, and the loops of the others run a few rounds, and all of them in `make full`, which
// sets UNALIKE_FULL.
package fulltest

import (
	"os"
	"testing"
)

// Long leaves a test out of `make test`, and says why it takes long. `make left-out` lists them.
// Nothing is left out of a program that is no test.
func Long(tb testing.TB, why string) {
	tb.Helper()
	if testing.Testing() && testing.Short() {
		tb.Skip("left out under -short: " + why)
	}
}

// Quiet reports whether nothing else runs on the machine, so that a test may hold the product to
// its times: the environment variable UNALIKE_QUIET is set.
func Quiet() bool { return os.Getenv("UNALIKE_QUIET") != "" }

// Rounds returns full if the environment variable UNALIKE_FULL is set and not empty, else short.
func Rounds(short, full int) int {
	if os.Getenv("UNALIKE_FULL") != "" {
		return full
	}
	return short
}
