package etcdtest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// memberEnv carries the configuration to a process that is to be a member.
const memberEnv = "UNALIKE_TEST_ETCD_MEMBER"

// Main runs a member and ends the process if it was started to be one. Otherwise it
// does nothing.
func Main() {
	raw, ok := os.LookupEnv(memberEnv)
	if !ok {
		return
	}
	if err := serve(raw); err != nil {
		fmt.Fprintln(os.Stderr, "etcd member:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// readyLine is what a member prints when it serves.
const readyLine = "ready"

// serve is a member until its standard input ends, which it does with the test.
func serve(raw string) error {
	var cfg config
	if err := json.Unmarshal([]byte(raw), &cfg); err != nil {
		return err
	}
	e, err := cfg.start()
	if err != nil {
		return err
	}
	fmt.Println(readyLine)
	_, err = io.Copy(io.Discard, os.Stdin)
	e.Close()
	return err
}

// terminateTime is how long a member may take to end in good order. It gives requests 7 s.
const terminateTime = 10 * time.Second

// Member is an etcd in a process of its own.
type Member struct {
	Endpoint string // host:port
	Dir      string // the data folder
	cfg      config
	input    io.Closer // its end is the end of the member
	*proctest.Server
}

// newMember returns a member that is not started: this program, started again.
func newMember(tb testing.TB, cfg config) *Member {
	tb.Helper()
	m := &Member{Endpoint: cfg.Client, Dir: cfg.Dir, cfg: cfg}
	m.Server = proctest.NewServer(func() *exec.Cmd {
		raw, err := json.Marshal(m.cfg)
		if err != nil {
			tb.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), memberEnv+"="+string(raw))
		if m.input, err = cmd.StdinPipe(); err != nil {
			tb.Fatal(err)
		}
		return cmd
	}, func() bool { return strings.Contains(m.Said(), readyLine) })
	return m
}

// Terminate ends the member in good order: one that leads hands that over before. It
// returns when the process is gone. One that takes too long is killed, as service managers do
// it: etcd waits for every connection on which nothing has come yet, for as long as that
// stays open.
func (m *Member) Terminate(testing.TB) {
	_ = m.input.Close() // fails if the process is gone
	m.EndIn(terminateTime)
}
