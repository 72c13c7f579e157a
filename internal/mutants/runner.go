package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// runner builds and runs tests of the module, with and without mutants. Its methods are for
// concurrent use.
type runner struct {
	root string // of the module
	dir  string // for programs and changed files

	programs sync.Map // func() (string, error) by package
	controls sync.Map // func() result by test
}

// result is what a run of one test gave.
type result struct {
	output string
	err    error
	took   time.Duration
}

const (
	// limit is how long a test may take that is to fail by itself: so long that none is ended
	// because the machine is slow.
	limit = 10 * time.Minute
	// A test that may hang is taken to hang after leastHang, and after hangFactor times as long
	// as it took on the unchanged code beside the same load.
	leastHang  = 20 * time.Second
	hangFactor = 20
	// grace is for what a test that was ended has to print.
	grace = time.Minute
)

// tryTwice tries m, and once more if the first attempt failed: on a busy machine a test may time
// out, or miss the moment that it is for. A mutant that no test notices fails both times.
func (r *runner) tryTwice(ctx context.Context, m *mutant) (first, err error) {
	if first = r.try(ctx, m); first == nil || ctx.Err() != nil {
		return nil, first
	}
	for _, t := range m.tests {
		r.controls.Delete(t)
	}
	return first, r.try(ctx, m)
}

// try applies m and runs its tests. It returns an error that says what is wrong with the
// mutant or a test, or nil if each of them noticed.
//
// A test runs on the unchanged code first, once for all mutants that name it: a test that
// fails there too, or does not run, notices nothing.
func (r *runner) try(ctx context.Context, m *mutant) error {
	overlay, err := r.overlay(m)
	if err != nil {
		return err
	}
	program, built := filepath.Join(r.dir, m.name+".test"), ""
	defer func() { _ = os.Remove(program) }()
	env := "GOFLAGS=-overlay=" + overlay // for tests that build the command
	for _, t := range m.tests {
		before, end := r.control(ctx, t), limit
		if err := before.usable(t); err != nil {
			return err
		}
		if built != t.pkg {
			if err := r.build(ctx, t.pkg, program, "-overlay="+overlay); err != nil {
				return fmt.Errorf("it does not build, so it proves nothing: %w", err)
			}
			built = t.pkg
		}
		if m.hangs {
			end = max(leastHang, hangFactor*before.took)
		}
		if err := m.verdict(t, r.test(ctx, program, t, end, env)); err != nil {
			return err
		}
	}
	return nil
}

// overlay writes the changed file, and for the go command that it takes the place of the
// original. It returns the path of the latter.
func (r *runner) overlay(m *mutant) (string, error) {
	text, err := m.changed(r.root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(r.dir, m.name+path.Ext(m.file))
	overlay := filepath.Join(r.dir, m.name+".json")
	original := filepath.Join(r.root, filepath.FromSlash(m.file))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	return overlay, errors.Join(err,
		os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600))
}

// control returns the result of a test of the unchanged code. The first call runs it.
func (r *runner) control(ctx context.Context, t test) result {
	once, _ := r.controls.LoadOrStore(t, sync.OnceValue(func() result {
		program, err := r.program(ctx, t.pkg)
		if err != nil {
			return result{err: err}
		}
		return r.test(ctx, program, t, limit)
	}))
	return once.(func() result)()
}

// program returns the path of the tests of an unchanged package. The first call builds them.
func (r *runner) program(ctx context.Context, pkg string) (string, error) {
	once, _ := r.programs.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		path := filepath.Join(r.dir, strings.ReplaceAll(pkg, "/", "_")+".unchanged.test")
		return path, r.build(ctx, pkg, path)
	}))
	return once.(func() (string, error))()
}

// build builds the tests of a package, without what a debugger needs: it takes longer to link
// than all the rest.
func (r *runner) build(ctx context.Context, pkg, path string, flags ...string) error {
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", path}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	cmd.Dir = r.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c ./%s: %w\n%s", pkg, err, out)
	}
	return nil
}

// limited runs a program that ends when it wants more than 6 GiB of memory: a mutant may loop
// without end, and take the machine with it.
const limited = `ulimit -d 6291456; exec "$0" "$@"`

// test runs one test of a program that build has made, in the package's folder, as make test
// does.
func (r *runner) test(ctx context.Context, program string, t test, end time.Duration,
	env ...string,
) result {
	ctx, cancel := context.WithTimeout(ctx, end+grace)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", limited, program, "-test.v", "-test.short",
		"-test.failfast", "-test.paniconexit0", "-test.timeout="+end.String(), "-test.run=^"+t.name+"$")
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(t.pkg))
	cmd.Env = append(append(os.Environ(), "UNALIKE_FULL=", "UNALIKE_SEEDS="), env...)
	cmd.WaitDelay = grace // a process that the test has started may hold the pipe
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	return result{output: out.String(), err: err, took: time.Since(began)}
}
