package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	longTest    = 5.0  // seconds that a test takes without a reason
	longPackage = 30.0 // and a package
)

const module = "github.com/unalike-id/unalike/"

func short(pkg string) string { return strings.TrimPrefix(pkg, module) }

// name returns what a list of reasons calls a test, or a package.
func (t timing) name() string {
	if t.test == "" {
		return "package " + short(t.pkg)
	}
	return short(t.pkg) + " " + t.test
}

func line(result string, t timing, rest string) string {
	return fmt.Sprintf("%-5s %6.1f s  %s%s\n", result, t.seconds, short(t.pkg), rest)
}

// waits returns what has been running, the longest first, in a line.
func (r *results) waits(now time.Time, after time.Duration) string {
	var all []timing
	for pkg, tests := range r.running {
		for name, t := range tests {
			if !t.paused && !strings.Contains(name, "/") {
				all = append(all, timing{pkg, name, now.Sub(t.since).Seconds()})
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  after %.0f s: ", after.Seconds())
	if len(all) == 0 {
		return b.String() + "go test compiles\n"
	}
	var names []string
	for _, t := range slowest(all, 4) {
		names = append(names, fmt.Sprintf("%s for %.0f s", t.name(), t.seconds))
	}
	b.WriteString(strings.Join(names, ", "))
	if more := len(all) - 4; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String() + "\n"
}

// summary writes the end of the report: times, warnings, counts, and as its last lines what was
// missing.
func (r *results) summary(w io.Writer, reasons map[string]string) {
	_, _ = fmt.Fprintf(w, "\n== the slowest tests\n")
	for _, t := range slowest(r.tests, 10) {
		_, _ = fmt.Fprintf(w, "%7.1f s  %s\n", t.seconds, t.name())
	}
	if reasons != nil {
		for _, warning := range r.tooSlow(reasons) {
			_, _ = fmt.Fprintf(w, "WARNING, too slow: %s\n", warning)
		}
	}
	_, _ = fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped, with their parts\n", r.count.passed,
		r.count.failed, r.count.skipped)
	for _, what := range slices.Sorted(maps.Keys(r.missing)) {
		_, _ = fmt.Fprintf(w, "SKIPPED: %d tests: %s\n", r.missing[what], what)
	}
}

// tooSlow returns what takes longer than the rule allows, and has no reason in the list.
func (r *results) tooSlow(reasons map[string]string) (warnings []string) {
	for _, t := range append(slowest(r.packages, len(r.packages)), slowest(r.tests, len(r.tests))...) {
		allowed := longTest
		if t.test == "" {
			allowed = longPackage
		}
		if t.seconds > allowed && reasons[short(t.pkg)] == "" && reasons[t.name()] == "" {
			warnings = append(warnings, fmt.Sprintf("%s took %.1f s, %.0f are allowed", t.name(), t.seconds,
				allowed))
		}
	}
	return warnings
}

// readReasons reads a list of what may be slow, a tab, and why: PACKAGE with all its tests,
// "package PACKAGE" as a whole, or "PACKAGE TEST". An empty path is no list.
func readReasons(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	reasons := map[string]string{}
	for s, n := bufio.NewScanner(f), 1; s.Scan(); n++ {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		what, why, ok := strings.Cut(s.Text(), "\t")
		if !ok || why == "" || reasons[what] != "" {
			return nil, fmt.Errorf("%s:%d: %q: want a package, or a package and a test, once, a tab, "+
				"and the reason", path, n, s.Text())
		}
		reasons[what] = why
	}
	return reasons, nil
}
