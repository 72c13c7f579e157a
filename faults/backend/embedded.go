package backend

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	driver "github.com/unalike-id/unalike/coord/etcd/embedded"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

const (
	// folderEnv names the folder to a process that is to be a program which uses it.
	folderEnv = "UNALIKE_FAULTS_FOLDER"
	// folderReady is what such a program prints when the server of the folder answers.
	folderReady = "ready"
)

// embedded is a folder with an etcd that runs in one of the programs that use it. The
// back end has a program of its own, which uses the folder first and grants nothing; it is
// its only Server. Freeze stops the etcd for everybody, for as long as that program
// runs it. After Kill or Stop another program that uses the folder runs it, if there is one,
// and the program of the back end joins with Restart.
type embedded struct {
	common
	dir string
}

func startEmbedded(tb testing.TB) Backend {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "folder")
	p := &program{dir: dir}
	p.Restart(tb)
	return &embedded{common{name: "embedded", servers: []Server{p}, dirs: []string{dir}}, dir}
}

// URL implements Backend.
func (b *embedded) URL(options ...string) string {
	return "embed://" + b.dir + newSettings(options).query()
}

// Host implements Hosted.
func (b *embedded) Host(tb testing.TB) int {
	tb.Helper()
	var at struct{ PID int }
	streamtest.Eventually(tb, "a program runs the etcd", func() bool {
		held, _, err := filelock.Look(filepath.Join(b.dir, "lock"))
		if err != nil || held == nil {
			return false
		}
		raw, err := os.ReadFile(filepath.Join(b.dir, "endpoint.json"))
		return err == nil && json.Unmarshal(raw, &at) == nil && at.PID != 0
	})
	return at.PID
}

// Snapshot implements Backend. The program of the back end must run the etcd.
func (b *embedded) Snapshot(tb testing.TB) string {
	tb.Helper()
	if pid, own := b.Host(tb), b.program().PID(); pid != own {
		tb.Fatalf("process %d runs the etcd, which must stand still for a snapshot; only process %d can be made to", pid, own)
	}
	return b.common.Snapshot(tb)
}

// Restore implements Backend. Programs that use the folder must have ended.
func (b *embedded) Restore(tb testing.TB, snapshot string) {
	tb.Helper()
	b.Kill(tb)
	lock, err := filelock.Lock(filepath.Join(b.dir, "lock"))
	if err != nil {
		tb.Fatalf("data of a folder that is in use cannot be replaced: %v", err)
	}
	b.replaceData(tb, snapshot)
	lock.Unlock()
	b.Restart(tb)
}

func (b *embedded) program() *program { return b.servers[0].(*program) }

// program is a process that uses the folder.
type program struct {
	dir   string
	input io.Closer // its end is the end of the program
	*proctest.Process
}

// Restart implements Server.
func (p *program) Restart(tb testing.TB) {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), folderEnv+"="+p.dir)
	cmd.Stderr = os.Stderr
	if p.input, err = cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.Process = proctest.Start(tb, cmd)
	if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != folderReady {
		tb.Fatalf("the program that uses %s ended before the etcd there served", p.dir)
	}
}

// Terminate implements Server.
func (p *program) Terminate(tb testing.TB) {
	tb.Helper()
	_ = p.input.Close() // fails if the process is gone
	<-p.Done()
}

// programMain is such a program, if the process was started to be one.
func programMain() {
	dir, ok := os.LookupEnv(folderEnv)
	if !ok {
		return
	}
	if err := useFolder(dir); err != nil {
		fmt.Fprintln(os.Stderr, "program that uses", dir+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// useFolder uses a folder until standard input ends.
func useFolder(dir string) error {
	c, err := driver.New(context.Background(), dir, "unused", driver.Options{})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(os.Stdout, folderReady)
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return errors.Join(err, c.Close())
}
