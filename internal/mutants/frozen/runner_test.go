package frozen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// runner builds and runs tests of the module, with and without mutants. Its methods are for
// concurrent use.
type runner struct {
	root  string        // of the module
	dir   string        // for the programs of unchanged packages, until TestMutants ends
	cores chan struct{} // has room for one compiler per core

	mu       sync.Mutex
	programs map[string]func() (string, error) // by package
	controls map[string]func() result          // by package and test
	costs    costs
}

// result is what a run of one test gave.
type result struct {
	output string
	err    error
	took   time.Duration
}

const (
	// patience is how long a test may take that is to fail by itself: so long that none is
	// ended because the machine is slow.
	patience = 10 * time.Minute
	// A test that may hang is taken to hang after leastHang, and after hangFactor times as long
	// as it took on the unchanged code beside the same load.
	leastHang  = 20 * time.Second
	hangFactor = 20
	// grace is for what a test that was ended has to print.
	grace = time.Minute
)

func newRunner(t *testing.T, root string) (*runner, error) {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &runner{
		root: root, dir: t.TempDir(), cores: make(chan struct{}, runtime.NumCPU()),
		programs: map[string]func() (string, error){}, controls: map[string]func() result{}, costs: costs{},
	}
	t.Cleanup(func() { fmt.Print(r.costs.table()) })
	return r, nil
}

// errGone says that what a mutant changes is not there any more.
var errGone = errors.New("its text is gone")

// try applies m and runs its test. It returns what is wrong with the test, or "" if the test noticed; an error is of the
// mutant, errGone if it cannot be applied.
//
// The test runs on the unchanged code first, once for all mutants that name it: a test that fails there too, or
// does not run, notices nothing.
func (r *runner) try(t *testing.T, m *mutant) (string, error) {
	t.Helper()
	overlay, err := m.overlay(t, r.root)
	if err != nil {
		return "", err
	}
	before := r.control(t.Context(), m.pkg, m.test)
	if problem := before.missing(m.test); problem != "" {
		return problem, nil
	}
	began := time.Now()
	program := filepath.Join(t.TempDir(), "mutant.test")
	if err := r.build(t.Context(), m.pkg, program, "-overlay="+overlay); err != nil {
		return "it does not build, so it proves nothing", err
	}
	built := time.Since(began)
	limit := patience
	if m.hangs {
		limit = max(leastHang, hangFactor*before.took)
	}
	after := r.test(t.Context(), m.pkg, program, m.test, limit, "GOFLAGS=-overlay="+overlay) // for tests that build the program
	r.add(m.pkg, cost{mutants: 1, build: built, test: after.took})
	return m.verdict(after), nil
}

// overlay writes the changed file and what the go command needs to use it in place of the original. It returns the
// path of the latter.
func (m *mutant) overlay(t *testing.T, root string) (string, error) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errGone, err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%w: %s contains it %d times, want once:\n%s", errGone, m.file, n, m.old)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(path))
	overlay := filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(
		os.WriteFile(changed, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600),
		os.WriteFile(overlay, replace, 0o600),
	)
}

// control returns the result of a test of the unchanged code. The first call runs it.
func (r *runner) control(ctx context.Context, pkg, test string) result {
	r.mu.Lock()
	key := pkg + " " + test
	run := r.controls[key]
	if run == nil {
		run = sync.OnceValue(func() result {
			program, err := r.program(ctx, pkg)
			if err != nil {
				return result{err: err}
			}
			res := r.test(ctx, pkg, program, test, patience)
			r.add(pkg, cost{control: res.took})
			return res
		})
		r.controls[key] = run
	}
	r.mu.Unlock()
	return run()
}

// program returns the path of the tests of an unchanged package. The first call builds them, so that
// what the package's mutants have in common is compiled once.
func (r *runner) program(ctx context.Context, pkg string) (string, error) {
	r.mu.Lock()
	build := r.programs[pkg]
	if build == nil {
		build = sync.OnceValues(func() (string, error) {
			began := time.Now()
			path := filepath.Join(r.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
			err := r.build(ctx, pkg, path)
			r.add(pkg, cost{control: time.Since(began)})
			return path, err
		})
		r.programs[pkg] = build
	}
	r.mu.Unlock()
	return build()
}

// build builds the tests of a package when a core is free. What a debugger needs is left out: it takes longer to
// link than all the rest.
func (r *runner) build(ctx context.Context, pkg, path string, flags ...string) error {
	r.cores <- struct{}{}
	defer func() { <-r.cores }()
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", path}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = r.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// limited runs a program that ends when it wants more than 6 GiB of memory: a mutant may loop without end, and take the
// machine with it.
const limited = `ulimit -d 6291456; exec "$0" "$@"`

// test runs one test of a program that build has made, in the package's folder, as the go command does.
func (r *runner) test(ctx context.Context, pkg, program, test string, limit time.Duration, env ...string) result {
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", limited, program, "-test.v", "-test.failfast", "-test.paniconexit0",
		"-test.timeout="+limit.String(), "-test.run=^"+test+"$")
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(pkg))
	// A mutant is to be noticed by what everybody runs.
	cmd.Env = append(append(os.Environ(), "UNALIKE_FULL=", "UNALIKE_SEEDS="), env...)
	cmd.WaitDelay = grace // a process that the test has started may hold the pipe
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	return result{output: out.String(), err: err, took: time.Since(began)}
}

func (r *runner) add(pkg string, c cost) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.costs.add(pkg, c)
}
