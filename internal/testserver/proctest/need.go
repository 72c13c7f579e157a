package proctest

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
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

// Ports come from between these. Systems take those of connections, and of whoever lets
// them choose, from higher ones; so a server that is away for a while finds its port free
// when it comes back. A Redis in a cluster also listens 10000 ports above its own.
const (
	lowestPort  = 10_240
	highestPort = 20_239
)

// given has the ports of servers that may be away for a moment.
var given sync.Map

// FreePorts returns ports of 127.0.0.1 on which nobody listens, and that it gives to
// nobody else in this process until the test ends. Somebody else can take one before its
// server does: whoever starts a server tries again with others then.
func FreePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries > 100*n {
			tb.Fatalf("of %d ports between %d and %d, %d are free", tries, lowestPort, highestPort, len(ports))
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		tb.Cleanup(func() { given.Delete(port) })
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // held until all are found, so that they differ
		ports = append(ports, port)
	}
	return ports
}
