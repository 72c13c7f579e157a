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
	code = s.Tests.Run()
	shared.end()
	return code
}

// Shared returns the API server that the tests of a package share, each with a Kubernetes namespace
// of its own; the first one starts it. Its TestMain runs [Sharing]. Whoever takes a server away has
// one of its own, see [Start].
func Shared(tb testing.TB) *Server {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		l := &lasting{TB: tb}
		defer func() {
			if shared.server == nil { // it does not start
				l.end()
			}
		}()
		s := Start(l)
		shared.server, shared.life = s, l
	}
	return shared.server
}

// shared is the server of Shared.
var shared share

type share struct {
	mu     sync.Mutex
	server *Server
	life   *lasting
}

func (s *share) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil {
		s.life.end()
	}
	s.server, s.life = nil, nil
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
	l.mu.Lock()
	last := l.last
	l.last = nil
	l.mu.Unlock()
	for _, f := range slices.Backward(last) {
		f()
	}
}
