package static

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/leaktest"
)

// The environment of a child process: the test binary, started again as a holder
// of worker ID 7.
const (
	childState = "UNALIKE_TEST_CHILD_STATE" // path of the state file; set: be a child
	childName  = "UNALIKE_TEST_CHILD_NAMESPACE"
	childDie   = "UNALIKE_TEST_CHILD_DIE"    // the step of saving to die in, at the third save
	childWeak  = "UNALIKE_TEST_CHILD_NOBODY" // not empty: give up the rights of root
)

func TestMain(m *testing.M) {
	if os.Getenv(childState) == "" {
		leaktest.Main(m)
	}
	if err := child(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// child acquires, and renews for every line that it reads. It prints the NotAfter
// of each window that it was given.
func child() error {
	if os.Getenv(childWeak) != "" {
		if err := becomeNobody(); err != nil {
			return err
		}
	}
	c, err := New(7, Options{Namespace: os.Getenv(childName), State: os.Getenv(childState), AcceptFresh: true})
	if err != nil {
		return err
	}
	dieAtThirdSave(&c.storage, os.Getenv(childDie))
	ctx := context.Background()
	g, err := c.Acquire(ctx, request(rand.Text(), 1000))
	if err != nil {
		return err
	}
	fmt.Println(g.NotAfter)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if g, err = c.Renew(ctx, g, g.NotAfter+100); err != nil {
			return err
		}
		fmt.Println(g.NotAfter)
	}
	return nil // without a release, as a crash
}

// dieAtThirdSave makes the process kill itself, before or after a step.
func dieAtThirdSave(s *storage, step string) {
	n := 0
	die := func(at string) {
		if at == step {
			if n++; n == 3 {
				p, err := os.FindProcess(os.Getpid())
				if err == nil {
					_ = p.Kill()
				}
				select {} // until the signal arrives
			}
		}
	}
	real := *s
	s.sync = func(f *os.File) error { die("before sync"); return real.sync(f) }
	s.rename = func(from, to string) error {
		die("before rename")
		err := real.rename(from, to)
		die("after rename")
		return err
	}
	s.syncDir = func(dir string) error {
		err := real.syncDir(dir)
		die("after sync of the folder")
		return err
	}
}

// process is a child that holds worker ID 7.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, namespace, state, die string, env ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childState+"="+state, childName+"="+namespace, childDie+"="+die)
	cmd.Env = append(cmd.Env, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// next returns the next window's end that the process was given; false: it died.
func (p *process) next(t *testing.T) (int64, bool) {
	t.Helper()
	if !p.out.Scan() {
		return 0, false
	}
	var n int64
	if _, err := fmt.Sscan(p.out.Text(), &n); err != nil {
		t.Fatalf("the process said %q", p.out.Text())
	}
	return n, true
}

// renew asks for a renewal.
func (p *process) renew() { _, _ = io.WriteString(p.in, "\n") }

func TestLockedByAnotherProcess(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	p := start(t, ns, path, "")
	end, ok := p.next(t)
	if !ok {
		t.Fatal("the process did not acquire")
	}
	c := open(t, Options{Namespace: ns, State: path})
	_, err := c.Acquire(t.Context(), request("a", 1000))
	wantError(t, err, coord.ErrNoWorkerID, fmt.Sprintf("worker ID 7 of namespace %q: coord: no free worker ID: %s.lock is locked by process %d; stop it or give this process another worker ID", ns, path, p.cmd.Process.Pid))

	// The lock is no stronger than its holder.
	p.kill()
	g := acquire(t, c, request("a", 1000))
	window(t, g, end, end)
	if g.Generation != 2 {
		t.Errorf("granted was %v; want generation 2", g)
	}
}

// TestSecondWorkerOfTwo: with a second worker ID configured the lock of the first
// is no obstacle.
func TestSecondWorkerOfTwo(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	p := start(t, ns, path, "")
	if _, ok := p.next(t); !ok {
		t.Fatal("the process did not acquire")
	}
	c := open(t, Options{Namespace: ns, State: path, Count: 2, AcceptFresh: true})
	if g := acquire(t, c, request("a", 1000)); g.WorkerID != 8 {
		t.Errorf("granted was %v; want worker ID 8", g)
	}
	_, err := c.Acquire(t.Context(), request("b", 1000))
	want := fmt.Sprintf("%s.lock is locked by process %d", path, p.cmd.Process.Pid)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with both held: %v; want it to say that %s", err, want)
	}
}

// TestKilled kills processes at arbitrary points of their renewals: no successor
// is given a tick that a window had which the process knew of.
func TestKilled(t *testing.T) {
	path, ns := statePathOf(t), rand.Text()
	var highest int64
	for round := range 5 {
		p := start(t, ns, path, "")
		for n := range 20 * round {
			p.renew()
			if n%2 == 0 { // half of them are under way when it dies
				if end, ok := p.next(t); ok {
					highest = end
				}
			}
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for {
			end, ok := p.next(t)
			if !ok {
				break
			}
			highest = end
		}
		p.kill()
		forget(ns)
		c := open(t, Options{Namespace: ns, State: path, AcceptFresh: round == 0})
		g := acquire(t, c, request(rand.Text(), 1000))
		if g.NotBefore < highest {
			t.Fatalf("round %d: a window reached up to %d, and the next is %v", round, highest, g)
		}
		highest = g.NotAfter
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiesWhileSaving kills a process in every step of saving: the file is the old
// or the new one, and its leftovers are in nobody's way.
func TestDiesWhileSaving(t *testing.T) {
	for _, step := range []string{"before sync", "before rename", "after rename", "after sync of the folder"} {
		t.Run(strings.ReplaceAll(step, " ", "_"), func(t *testing.T) {
			path, ns := statePathOf(t), rand.Text()
			p := start(t, ns, path, step)
			var known []int64
			for {
				end, ok := p.next(t)
				if !ok {
					break
				}
				known = append(known, end)
				p.renew()
			}
			if len(known) != 2 {
				t.Fatalf("windows %v were given; the process should have died in its third save", known)
			}
			p.kill()
			old, renewed := known[1], known[1]+100
			g := acquire(t, open(t, Options{Namespace: ns, State: path}), request("a", 1000))
			if want := map[bool]int64{true: renewed, false: old}[strings.HasPrefix(step, "after")]; g.NotBefore != want {
				t.Errorf("died %s: granted was %v; want it to begin at %d", step, g, want)
			}
			names, err := filepath.Glob(path + "*")
			if err != nil || len(names) != 2 {
				t.Errorf("files are %v, %v; want the state file and its lock", names, err)
			}
		})
	}
}
