package main

import (
	"fmt"
	"regexp"
	"strings"
)

// usable returns an error if the result of the unchanged code shows that a test cannot notice
// anything.
func (r result) usable(t test) error {
	switch {
	case strings.Contains(r.output, "testing: warning: no tests to run"):
		return fmt.Errorf("there is no %v", t)
	case r.err != nil:
		return fmt.Errorf("%v fails on the unchanged code too: %w\n%s", t, r.err, r.output)
	case r.ended("SKIP", t):
		return fmt.Errorf("%v is skipped:\n%s", t, r.output)
	}
	return nil
}

// outOfMemory is what a Go program says that may have no more memory.
var outOfMemory = regexp.MustCompile(`(?m)^fatal error: .*(out of|allocate) memory`)

// verdict returns nil if r shows that a test noticed m, and else why not. A test that does
// not end is no test that has failed: the machine may be slow. It counts only for mutants of
// which that is the effect.
func (m *mutant) verdict(t test, r result) error {
	switch {
	case r.err == nil:
		return fmt.Errorf("it is alive: %v did not notice", t)
	case m.hangs && outOfMemory.MatchString(r.output):
		return nil // it has filled its memory before its time was over
	case strings.Contains(r.output, "panic: test timed out after "):
		if m.hangs {
			return nil
		}
		return fmt.Errorf("%v did not end; a mutant whose effect is a hang says so (hangs)\n%s", t,
			r.output)
	case !r.ended("FAIL", t):
		return fmt.Errorf("%v neither passed nor failed: %w\n%s", t, r.err, r.output)
	}
	return nil
}

// ended reports whether the test, and not only a part of it, ended so.
func (r result) ended(how string, t test) bool {
	return strings.Contains("\n"+r.output, "\n--- "+how+": "+t.name+" (")
}
