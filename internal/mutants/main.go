package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *within, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, within time.Duration, names []string) error {
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
		order(all, changed(ctx, root))
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
			return nil, fmt.Errorf("internal/mutants/list.tsv has no mutant %q", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// changed returns the files that the last commits, and the working tree, change.
func changed(ctx context.Context, root string) []string {
	cmd := exec.CommandContext(ctx, "git", "diff", "--name-only", fmt.Sprintf("HEAD~%d", recent))
	cmd.Dir = root
	out, _ := cmd.Output() // a clone may lack the history: no file is preferred then
	return strings.Fields(string(out))
}

// order puts the mutants first whose file, or a file beside their test, was changed, and the
// others in an order that is another one each time.
func order(all []mutant, files []string) {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	rank := func(m mutant) int {
		if slices.ContainsFunc(files, func(file string) bool {
			return file == m.file || m.testedBy(filepath.ToSlash(filepath.Dir(file)))
		}) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b mutant) int { return rank(a) - rank(b) })
}

// try tries the mutants, one on each core, and prints what became of each. Those that no test
// notices, or that cannot be applied, are an error.
func try(ctx context.Context, root string, all []mutant, within time.Duration) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := runner{root: root, dir: dir}
	var (
		began         = time.Now()
		mu            sync.Mutex
		tried, failed int
		wg            sync.WaitGroup
	)
	queue := make(chan *mutant, len(all))
	for i := range all {
		queue <- &all[i]
	}
	close(queue)
	for range runtime.NumCPU() {
		wg.Go(func() {
			for m := range queue {
				start := time.Now()
				if ctx.Err() != nil || within > 0 && start.Sub(began) > within {
					return
				}
				said := fmt.Sprintf("noticed by %v", m.tests)
				first, err := r.tryTwice(ctx, m)
				mu.Lock()
				tried++
				if first != nil {
					said = fmt.Sprintf("noticed by the second attempt only; the first: %v", first)
				}
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
	fmt.Printf("%d mutants of %d tried in %.0f s, %d not noticed\n", tried, len(all),
		time.Since(began).Seconds(), failed)
	if failed > 0 {
		return fmt.Errorf("%d mutants are not noticed, see above", failed)
	}
	return ctx.Err()
}
