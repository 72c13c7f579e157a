package proctest

import (
	"os"
	"os/exec"
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
	var missing []string
	for _, w := range what {
		if !installed(w) {
			missing = append(missing, w)
		}
	}
	switch {
	case len(missing) == 0:
	case os.Getenv(strictEnv) != "":
		tb.Fatalf("not installed: %s. scripts/servers installs it; on Debian and its kin: "+
			"apt-get install %s", strings.Join(missing, ", "), packages)
	default:
		tb.Skipf("SKIPPED, not installed: %s. scripts/servers installs it; on Debian and its kin: "+
			"apt-get install %s", strings.Join(missing, ", "), packages)
	}
}

func installed(what string) bool {
	if strings.HasPrefix(what, "/") {
		_, err := os.Stat(what)
		return err == nil
	}
	_, err := exec.LookPath(what)
	return err == nil
}
