package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// mostForgiven is how many failures of one run are forgiven at most.
const mostForgiven = 3

// final matches the output of a failure that is never forgiven: a violation, and what Go itself
// prints about a fault of the program.
var final = regexp.MustCompile(`DATA RACE|panic:|fatal error:|` +
	regexp.QuoteMeta(safetytest.Marker))

// failure is a test that failed.
type failure struct {
	pkg, test string
	final     bool // running it again changes nothing
}

// forgivable reports whether the machine may have been too busy for all tests that failed: they
// are few, their packages ended as they should, and none of the failures is final.
func (r *results) forgivable() bool {
	return len(r.failed) > 0 && len(r.failed) <= mostForgiven && !r.broken && len(r.running) == 0 &&
		!slices.ContainsFunc(r.failed, func(f failure) bool { return f.final })
}

// retry runs the packages with failed tests again and lists the flaky tests. It returns exit code
// 0 if all failed tests are flaky.
func (r *results) retry(args []string, test func(args []string, r *results) error, out io.Writer,
	steps string,
) (int, error) {
	flaky := r.again(args, test)
	for _, f := range r.failed {
		if !slices.Contains(flaky, f) {
			_, _ = fmt.Fprintf(out, "%s %s: it or its package fails alone, too\n", short(f.pkg), f.test)
		}
	}
	var list strings.Builder
	for _, f := range flaky {
		fmt.Fprintf(&list, "FLAKY\t%s\t%s\n", short(f.pkg), f.test)
	}
	if list.Len() > 0 {
		_, _ = fmt.Fprintf(out, "WARNING: these tests failed beside other packages, and pass when their "+
			"package runs alone; fix them:\n%s", &list)
	}
	code := 0
	if len(flaky) < len(r.failed) {
		code = 1
	}
	return code, appendTo(steps, list.String())
}

// appendTo appends text to a file, if there is a path.
func appendTo(path, text string) error {
	if path == "" || text == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// again runs each package with a failed test once more, with the machine to itself, and returns
// the failed tests of those packages that pass then. It runs the whole package, because the failure
// may have kept a later check from running, such as the one for goroutines that are left behind.
func (r *results) again(args []string,
	test func(args []string, r *results) error,
) (flaky []failure) {
	passes := map[string]bool{}
	for _, f := range r.failed {
		if _, ran := passes[f.pkg]; !ran {
			rerun := newResults()
			err := test(only(args, f.pkg), rerun)
			passes[f.pkg] = err == nil && !slices.ContainsFunc(r.failed, func(f failure) bool {
				return rerun.skips[f.name()]
			})
		}
		if passes[f.pkg] {
			flaky = append(flaky, f)
		}
	}
	return flaky
}

func (f failure) name() string { return f.pkg + " " + f.test }

// only returns the arguments of go test that run one package, and nothing of it from the cache.
func only(args []string, pkg string) []string {
	options := slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return strings.HasPrefix(a, ".")
	})
	return append(options, "-count=1", pkg)
}
