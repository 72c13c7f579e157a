package etcdtest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// memberEnv carries the configuration to a process that is to be a member.
const memberEnv = "UNALIKE_TEST_ETCD_MEMBER"

// readyLine is what a member prints when it serves.
const readyLine = "ready"

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
	if _, err := fmt.Fprintln(os.Stdout, readyLine); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	e.Close()
	return err
}

// terminateTime is how long a member may take to end in good order. It gives requests 7 s.
const terminateTime = 10 * time.Second

// Member is an etcd in a process of its own.
type Member struct {
	Endpoint          string // host:port
	Dir               string // the data folder
	cfg               config
	output            *proctest.Output
	input             io.Closer // its end is the end of the member
	*proctest.Process           // of the last launch
}

// launch starts the process, and does not wait until it serves.
func (m *Member) launch(tb testing.TB) {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := json.Marshal(m.cfg)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), memberEnv+"="+string(raw))
	cmd.Stderr = os.Stderr
	if m.input, err = cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	m.output = new(proctest.Output)
	cmd.Stdout = m.output
	m.Process = proctest.Start(tb, cmd)
}

// await waits until the member serves.
func (m *Member) await(tb testing.TB) {
	tb.Helper()
	if !m.Serves(tb, func() bool { return m.output.String() != "" }) {
		tb.Fatalf("member %s ended before it served", m.cfg.Name)
	}
}

// Terminate ends the member in good order: one that leads hands that over before. It
// returns when the process is gone. One that takes too long is killed, as service managers do
// it: etcd waits for every connection on which nothing has come yet, for as long as that
// stays open.
func (m *Member) Terminate(tb testing.TB) {
	tb.Helper()
	_ = m.input.Close() // fails if the process is gone
	m.EndIn(terminateTime)
}

// Restart starts the member again with what is in its folder, and waits until it
// serves.
func (m *Member) Restart(tb testing.TB) {
	tb.Helper()
	m.launch(tb)
	m.await(tb)
}
