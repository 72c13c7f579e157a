package proctest

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// strictEnv makes a missing server a failure. CI sets it.
const strictEnv = "UNALIKE_STRICT"

// Need makes sure that what a test runs is installed: names of commands, or paths
// of files. Otherwise the test is skipped with a message that says what to install,
// or fails if UNALIKE_STRICT is set, as it is in CI and by `make test`.
func Need(tb testing.TB, packages string, what ...string) {
	tb.Helper()
	var missing []string
	for _, w := range what {
		if !installed(w) {
			missing = append(missing, w)
		}
	}
	switch {
	case len(missing) == 0:
	case os.Getenv(strictEnv) != "":
		tb.Fatalf("not installed: %s. scripts/servers installs it; on Debian and its kin: apt-get install %s", strings.Join(missing, ", "), packages)
	default:
		tb.Skipf("SKIPPED, not installed: %s. scripts/servers installs it; on Debian and its kin: apt-get install %s", strings.Join(missing, ", "), packages)
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

// FreePorts returns ports of 127.0.0.1 on which nobody listens. Somebody else can
// take one before its server does: whoever starts a server tries again with others
// then.
func FreePorts(tb testing.TB, n int) []int {
	tb.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = l.Close() }() // held until all are found, so that they differ
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			tb.Fatalf("%v is no address of TCP", l.Addr())
		}
		ports[i] = addr.Port
	}
	return ports
}
