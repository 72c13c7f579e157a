package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

const (
	// unsteadyMost is how many tests may have failed because other tests kept the machine busy.
	unsteadyMost = 3
	// againTimes is how often each of them has to pass with the machine to itself.
	againTimes = "2"
)

// final is what a test says that must never happen, however busy the machine is.
var final = regexp.MustCompile(`(?i)DATA RACE|panic:|duplicate|twice|equal IDs|out of order|left goroutines`)

// failure is a test that failed.
type failure struct {
	pkg, test string
	final     bool // running it again changes nothing
}

// unsteady reports whether all that failed may have failed because the machine was busy: a few
// tests, whose packages ended as they should, and which say nothing that must never happen.
func (r *results) unsteady() bool {
	if len(r.failed) == 0 || len(r.failed) > unsteadyMost || r.broken {
		return false
	}
	for _, f := range r.failed {
		if f.final {
			return false
		}
	}
	return true
}

// again runs each test that failed alone, and returns whether all of them pass then. What it says
// of them ends the report: they are to be mended all the same.
func (r *results) again(args []string, test func(args []string, r *results) error, out io.Writer) bool {
	all := true
	for _, f := range r.failed {
		began := time.Now()
		passes := test(alone(args, f), newResults()) == nil
		verdict := "WARNING, unsteady: it failed beside other tests, and passes alone. Mend it"
		if !passes {
			all, verdict = false, "it fails alone, too"
		}
		_, _ = fmt.Fprintf(out, "%s %s, %s times alone in %.0f s: %s\n", short(f.pkg), f.test, againTimes, time.Since(began).Seconds(), verdict)
	}
	return all
}

// alone returns the arguments of go test that run one test, in place of those that run packages.
func alone(args []string, f failure) []string {
	var options []string
	for _, a := range args {
		if !strings.HasPrefix(a, ".") {
			options = append(options, a)
		}
	}
	return append(options, "-count="+againTimes, "-run=^"+f.test+"$", f.pkg)
}
