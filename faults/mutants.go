package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/unalike-id/unalike/faults/mutants"
)

// errMissed says that a mutant was not noticed, which was printed.
var errMissed = errors.New("mutants were not noticed")

// mutate shows that the suite notices mistakes in the library.
func mutate(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("faults mutants", flag.ContinueOnError)
	flags.SetOutput(log)
	only := flags.String("only", "", "run only the `kind` of what is to notice them: "+strings.Join(mutants.Ways(), ", "))
	parallel := flags.Int("parallel", 2, "run so many mutants at a time")
	root := flags.String("root", "", "the `folder` of the repository; empty: the current one, or the next one above it")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w %w", errUsage, err)
	}
	selected, err := mutants.Select(flags.Args())
	if err != nil {
		return fmt.Errorf("%w %w", errUsage, err)
	}
	var ways []string
	if *only != "" {
		ways = []string{*only}
		if !slices.Contains(mutants.Ways(), *only) {
			return fmt.Errorf("%w -only is %q; it is one of %s", errUsage, *only, strings.Join(mutants.Ways(), ", "))
		}
	}
	if *parallel < 1 {
		return fmt.Errorf("%w -parallel is %d; it is at least 1", errUsage, *parallel)
	}
	if *root == "" {
		if *root, err = repository(); err != nil {
			return fmt.Errorf("%w %w", errUsage, err)
		}
	}
	dir, err := os.MkdirTemp("", "unalike-mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the folder for temporary files
	r := &mutants.Runner{Root: *root, Dir: dir, Ways: ways}
	outcomes := make([]mutants.Outcome, len(selected))
	room := make(chan struct{}, *parallel)
	var all sync.WaitGroup
	for i, m := range selected {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			tell := func(text string) { _, _ = fmt.Fprintf(log, "%s: %s\n", m.Name, text) } // nobody listens then
			tell("begins")
			outcomes[i] = r.Try(ctx, m)
			tell(cmp.Or(outcomes[i].Problem(), "noticed"))
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	if err := mutants.Report(out, outcomes); err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Problem() != "" {
			return errMissed
		}
	}
	return nil
}

// repository returns the folder of the repository that the current folder is in.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "faults", "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in the repository, whose sources mutants are made of; say where it is with -root", dir)
		}
	}
}
