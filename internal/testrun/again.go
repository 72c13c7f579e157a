package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// unsteadyMost is how many tests may have failed because other tests kept the machine busy.
const unsteadyMost = 3

// final is what a test says that must never happen, however busy the machine is: a fault of the
// program, a number that comes again, or a window that overlaps with another.
var final = regexp.MustCompile(`(?i)DATA RACE|panic:|fatal error:|left goroutines|goroutines ` +
	`before|duplicate|twice|equal IDs|out of order|is not above|` +
	`(is|from) -?\d+, after -?\d+|overlap|below the floor|(was|were|and [^;]*) granted|granted ` +
	`(was|after)|bridges the gap|took back`)

// failure is a test that failed.
type failure struct {
	pkg, test string
	final     bool // running it again changes nothing
}

// unsteady reports whether all that failed may have failed because the machine was busy: a few
// tests, whose packages ended as they should, and which say nothing that must never happen.
func (r *results) unsteady() bool {
	return len(r.failed) > 0 && len(r.failed) <= unsteadyMost && !r.broken && len(r.running) == 0 &&
		!slices.ContainsFunc(r.failed, func(f failure) bool { return f.final })
}

// again runs each package of which a test failed once more, with the machine to itself, and returns
// whether they pass then. It is the whole package, so that what the failure kept from being looked
// at is looked at, as goroutines that are left. What it says of the tests ends the report: they are
// to be mended all the same.
func (r *results) again(args []string, test func(args []string, r *results) error,
	out io.Writer,
) bool {
	all, passes := true, map[string]bool{}
	for _, f := range r.failed {
		if _, ran := passes[f.pkg]; !ran {
			rerun := newResults()
			err := test(only(args, f.pkg), rerun)
			passes[f.pkg] = err == nil && !slices.ContainsFunc(r.failed, func(f failure) bool {
				return rerun.skips[f.name()]
			})
		}
		verdict := "WARNING, unsteady: it failed beside other packages, and passes in its own " +
			"alone. Mend it"
		if !passes[f.pkg] {
			all, verdict = false, "it or its package fails alone, too"
		}
		_, _ = fmt.Fprintf(out, "%s %s: %s\n", short(f.pkg), f.test, verdict)
	}
	return all
}

func (f failure) name() string { return f.pkg + " " + f.test }

// only returns the arguments of go test that run one package, and nothing of it from the cache.
func only(args []string, pkg string) []string {
	options := slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return strings.HasPrefix(a, ".")
	})
	return append(options, "-count=1", pkg)
}
