package kubetest

import (
	"os"
	"slices"
	"sync"
	"testing"
)

// Sharing runs the tests of a package, and ends the server of Shared after them.
type Sharing struct{ Tests interface{ Run() (code int) } }

// Run implements leaktest.Tests.
func (s Sharing) Run() (code int) {
	defer life.end()
	return s.Tests.Run()
}

var (
	life   lasting
	mu     sync.Mutex
	server *Server // of Shared
)

// Shared returns the API server that the tests of a package share, each with a Kubernetes namespace
// of its own; the first one starts it. Its TestMain runs [Sharing]. Whoever takes a server away has
// one of its own, see [Start].
func Shared(tb testing.TB) *Server {
	tb.Helper()
	mu.Lock()
	defer mu.Unlock()
	if server == nil {
		life.TB = tb
		server = Start(&life)
	}
	return server
}

// lasting is a test whose servers outlast it.
type lasting struct {
	testing.TB
	mu   sync.Mutex
	last []func()
}

// Cleanup implements [testing.TB].
func (l *lasting) Cleanup(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, f)
}

// Failed implements [testing.TB]: who asks would tell a test of it that has ended.
func (*lasting) Failed() bool { return false }

// TempDir implements [testing.TB].
func (l *lasting) TempDir() string {
	l.Helper()
	dir, err := os.MkdirTemp("", "shared")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// end does what the end of a test does.
func (l *lasting) end() {
	for _, f := range slices.Backward(l.last) {
		f()
	}
}
