package proctest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/internal/filelock"
)

// Ports come from between these. Systems take those of connections, and of whoever lets
// them choose, from higher ones; so a server that is away for a while finds its port free
// when it comes back. A Redis in a cluster also listens 10000 ports above its own.
const (
	lowestPort  = 10_240
	highestPort = 20_239
)

// FreePorts returns ports of 127.0.0.1 on which nobody listens, and that it gives to
// nobody else on this machine until the test ends: the tests of several packages run side
// by side, and a server may be away for a moment.
func FreePorts(tb testing.TB, n int) []int {
	tb.Helper()
	folder := portsFolder(tb)
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries > 100*n {
			tb.Fatalf("of %d ports between %d and %d, %d are free", tries, lowestPort, highestPort,
				len(ports))
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		lock, err := filelock.Lock(filepath.Join(folder, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		tb.Cleanup(lock.Unlock)
		l, err := net.Listen("tcp", Addr(port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // held until all are found, so that they differ
		ports = append(ports, port)
	}
	return ports
}

// Addr is the address of a port.
func Addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// portsFolder is where each port that was given away has its lock file, for the tests of one user.
func portsFolder(tb testing.TB) string {
	tb.Helper()
	//nolint:usetesting // shared by all tests
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("unalike-ports-%d", os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		tb.Fatal(err)
	}
	return folder
}
