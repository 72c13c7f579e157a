package main

import (
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestTimeoutBoundsTheOpening: where a coordinator is asked when it is opened, that is a call
// as well, and ends when the command has said that it would.
func TestTimeoutBoundsTheOpening(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"etcd://u:secret@" + silent(t) + "/x", hungFolder(t)} {
		began := time.Now()
		got := callWithin(t, time.Hour, "workers", "--timeout", "100ms", "--coordinator", url)
		wantCall(t, got, exitFailure, "", "unalike: still waiting for ")
		if took := time.Since(began); took > 4*time.Second { // the drivers themselves take 5 s and more
			t.Errorf("it took %v:\n%s", took, got.stderr)
		}
	}
}

// TestLookIsShort: where connections are neither taken nor refused, the look whether anybody
// is there and the silence after it are less than the second within which a wait is told of.
func TestLookIsShort(t *testing.T) {
	if silence := dialTime + quietTime; silence >= time.Second {
		t.Errorf("a wait is told of after %v", silence)
	}
}

// seen is an output that calls a function when a text is written to it first.
type seen struct {
	proctest.Output
	what string
	once sync.Once
	then func()
}

func (s *seen) Write(b []byte) (int, error) {
	if strings.Contains(string(b), s.what) {
		s.once.Do(s.then)
	}
	return s.Output.Write(b)
}

// TestTimeoutBoundsAStartWithItsWait: the timeout of generate is for the wait until somebody
// listens and for the start, together.
func TestTimeoutBoundsAStartWithItsWait(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	addr := nobody(t)
	stderr := &seen{what: "to accept connections", then: func() {
		l, err := net.Listen("tcp", addr) // from now on they are taken, and nothing is answered
		if err != nil {
			t.Errorf("the port was taken: %v", err)
			return
		}
		t.Cleanup(func() { _ = l.Close() })
	}}
	a := &app{
		streams: streams{out: io.Discard, err: stderr}, lookupEnv: lookupIn(nil),
		waits: waits{answer: time.Hour, quiet: time.Millisecond, dial: callTime},
	}
	code := a.run(t.Context(),
		strings.Fields("generate --wait --timeout 4s --coordinator redis://"+addr+"/0?namespace=x"))
	said := stderr.String()
	waits := regexp.MustCompile(`at_most=(\S+)`).FindAllStringSubmatch(said, -1)
	if code != exitFailure || len(waits) == 0 || !strings.Contains(said, "--timeout allows 4s") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	for _, w := range waits {
		if d, err := time.ParseDuration(w[1]); err != nil || d > timeout-dialPause {
			t.Errorf("after a wait of %v or more it goes on for %s (%v)\n%s", dialPause, w[1], err, said)
		}
	}
}
