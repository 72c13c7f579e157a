package main

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// recent is how many commits back a changed file puts its mutants first.
const recent = 10

func main() {
	within := flag.Duration("for", 0, "begin no further mutant after this time, 0: try all")
	list := flag.Bool("list", false, "print the mutants, in the order in which they are tried")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *within, *list, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, within time.Duration, list bool, names []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := readList(filepath.Join(root, "internal", "mutants", "list.tsv"))
	if err != nil {
		return err
	}
	if err := find(root, all); err != nil {
		return err
	}
	if all, err = chosen(all, names); err != nil {
		return err
	}
	if within > 0 {
		head, files := history(ctx, root)
		order(all, head, files)
	}
	if list {
		for _, m := range all {
			fmt.Printf("%-32s %s: %s\n", m.name, m.file, m.breaks)
		}
		return nil
	}
	return try(ctx, root, all, within)
}

// chosen returns the mutants of the given names; all if there are no names.
func chosen(all []mutant, names []string) ([]mutant, error) {
	if len(names) == 0 {
		return all, nil
	}
	var some []mutant
	for _, name := range names {
		i := slices.IndexFunc(all, func(m mutant) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q; -list prints them", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// history returns the commit and the files that the last commits, and the working tree,
// change.
func history(ctx context.Context, root string) (head string, files []string) {
	git := func(args ...string) []string {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		out, _ := cmd.Output() // a clone may lack the history: no file is preferred then
		return strings.Fields(string(out))
	}
	return strings.Join(git("rev-parse", "HEAD"), ""),
		git("diff", "--name-only", fmt.Sprintf("HEAD~%d", recent))
}

// order puts the mutants first whose file, or a file beside their test, was changed, and the
// others in an order that is another one after each commit.
func order(all []mutant, head string, files []string) {
	rank := func(m *mutant) uint32 {
		for _, file := range files {
			if file == m.file || m.testedBy(filepath.ToSlash(filepath.Dir(file))) {
				return 0
			}
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(head + m.name))
		return max(h.Sum32(), 1)
	}
	slices.SortStableFunc(all, func(a, b mutant) int {
		switch ra, rb := rank(&a), rank(&b); {
		case ra < rb:
			return -1
		case ra > rb:
			return 1
		}
		return 0
	})
}

// try tries the mutants, one on each core, and prints what became of each. Those that no test
// notices, or that cannot be applied, are an error.
func try(ctx context.Context, root string, all []mutant, within time.Duration) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := newRunner(root, dir)
	var (
		began  = time.Now()
		mu     sync.Mutex
		next   int
		failed int
		wg     sync.WaitGroup
	)
	take := func() *mutant {
		mu.Lock()
		defer mu.Unlock()
		if next == len(all) || ctx.Err() != nil || within > 0 && time.Since(began) > within {
			return nil
		}
		next++
		return &all[next-1]
	}
	for range runtime.NumCPU() {
		wg.Go(func() {
			for m := take(); m != nil; m = take() {
				start := time.Now()
				err := r.try(ctx, m)
				mu.Lock()
				said := fmt.Sprintf("noticed by %v", m.tests)
				if err != nil {
					failed++
					said = "FAILED: " + err.Error()
				}
				fmt.Printf("%4.0f s  %s: %s\n", time.Since(start).Seconds(), m.name, said)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Printf("%d mutants of %d tried in %.0f s, %d not noticed\n", next, len(all),
		time.Since(began).Seconds(), failed)
	if failed > 0 {
		return fmt.Errorf("%d mutants are not noticed, see above", failed)
	}
	return ctx.Err()
}
