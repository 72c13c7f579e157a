package zktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Ensemble is several servers that elect a leader.
type Ensemble struct{ Servers []*Server }

// StartEnsemble runs n servers that end with the test.
func StartEnsemble(tb testing.TB, n int, o Options) *Ensemble {
	tb.Helper()
	need(tb)
	for try := 1; ; try++ {
		e, err := launchEnsemble(tb, n, o)
		if err == nil {
			return e
		}
		for _, s := range e.Servers {
			s.Kill()
		}
		if try == startTries {
			tb.Fatalf("the ensemble does not start: %v", err)
		}
	}
}

func launchEnsemble(tb testing.TB, n int, o Options) (*Ensemble, error) {
	tb.Helper()
	ports := proctest.FreePorts(tb, 3*n)
	e := new(Ensemble)
	var lines []string
	for i := range n {
		s := newServer(tb, ports[3*i])
		e.Servers = append(e.Servers, s)
		role := "participant"
		if i >= n-o.Observers {
			role = "observer"
		}
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d:%s;%s", i+1, ports[3*i+1], ports[3*i+2], role, s.Addr))
	}
	for i, s := range e.Servers {
		s.configure(tb, o, append([]string{"standaloneEnabled=false"}, lines...)...)
		if err := os.WriteFile(filepath.Join(s.Dir, "myid"), []byte(strconv.Itoa(i+1)), 0o600); err != nil {
			tb.Fatal(err)
		}
		s.launch(tb)
	}
	for _, s := range e.Servers {
		if err := s.await(); err != nil {
			return e, fmt.Errorf("%w\n%s", err, s.log())
		}
	}
	return e, nil
}

// Restart starts the servers that have ended with what is in their folders, all at once,
// because one alone serves nobody, and waits until they serve.
func (e *Ensemble) Restart(tb testing.TB) {
	tb.Helper()
	var ended []*Server
	for _, s := range e.Servers {
		select {
		case <-s.Done():
			s.launch(tb)
			ended = append(ended, s)
		default:
		}
	}
	for _, s := range ended {
		if err := s.await(); err != nil {
			tb.Fatalf("%v\n%s", err, s.log())
		}
	}
}

// Addrs returns the addresses of all servers.
func (e *Ensemble) Addrs() []string {
	var all []string
	for _, s := range e.Servers {
		all = append(all, s.Addr)
	}
	return all
}

// Leader returns the server that leads; it waits until one does.
func (e *Ensemble) Leader(tb testing.TB) *Server {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(readyTime); ; <-tick.C {
		for _, s := range e.Servers {
			if s.Mode() == "leader" {
				return s
			}
		}
		if time.Now().After(deadline) {
			tb.Fatalf("no leader after %v", readyTime)
		}
	}
}
