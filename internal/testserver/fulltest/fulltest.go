// Package fulltest says how long tests are: those that take long are left out of `make test`, which
// sets -short, and the loops of the others run a few rounds, and all of them in `make full`, which
// sets UNALIKE_FULL.
package fulltest

import (
	"flag"
	"os"
	"strings"
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

// heavySuffix ends the name of each test that needs the machine for itself.
const heavySuffix = "Heavy"

// Heavy leaves a test out unless option -run asks for tests of this kind, and says why. It is for a
// test that takes the processors from all others, or that others disturb. Its name ends in Heavy:
// the Makefile runs such tests in a step of their own. Nothing is left out of a program that is no
// test.
func Heavy(tb testing.TB, why string) {
	tb.Helper()
	if !testing.Testing() {
		return
	}
	if name, _, _ := strings.Cut(tb.Name(), "/"); !strings.HasSuffix(name, heavySuffix) {
		tb.Fatalf("the name of %s does not end in %s, so that nothing runs it", name, heavySuffix)
	}
	if !strings.Contains(flag.Lookup("test.run").Value.String(), heavySuffix) {
		tb.Skip("left out without -run " + heavySuffix + "$: " + why)
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
