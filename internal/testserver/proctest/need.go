package proctest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	// strictEnv makes a missing server a failure. CI sets it.
	strictEnv = "UNALIKE_STRICT"
	// serversEnv stands for which servers are installed, and their versions. Whoever reads it is
	// tested again after one was installed: Go's cache of tests knows of variables, but not of what
	// lies outside the module.
	serversEnv = "UNALIKE_SERVERS"
)

// Need makes sure that what a test runs is installed: names of commands, or paths
// of files. Otherwise the test is skipped with a message that says what to install,
// or fails if UNALIKE_STRICT is set, as it is in CI.
func Need(tb testing.TB, packages string, what ...string) {
	tb.Helper()
	_ = os.Getenv(serversEnv)
	missing := slices.DeleteFunc(slices.Clone(what), installed)
	if len(missing) == 0 {
		return
	}
	says := "not installed: " + strings.Join(missing, ", ") + ". scripts/servers installs it; " +
		"on Debian and its kin: apt-get install " + packages
	if os.Getenv(strictEnv) != "" {
		tb.Fatal(says)
	}
	tb.Skip("SKIPPED, " + says)
}

func installed(what string) bool {
	if strings.HasPrefix(what, "/") {
		_, err := os.Stat(what)
		return err == nil
	}
	_, err := exec.LookPath(what)
	return err == nil
}
