package main

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line of `go test -json`.
type event struct {
	Time       time.Time
	Action     string
	Package    string
	ImportPath string // of what is built
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// test is a test, or a part of one, that has begun.
type test struct {
	since  time.Time
	paused bool
	output string
}

// timing is how long a test took, or a package.
type timing struct {
	pkg, test string
	seconds   float64
}

// count is how many tests ended how.
type count struct{ passed, failed, skipped int }

// results is what is known of a run so far.
type results struct {
	running  map[string]map[string]*test // by package and name
	loose    map[string]string           // what packages have printed outside of tests
	packages []timing
	tests    []timing
	missing  map[string]int  // tests skipped, by what they say
	skips    map[string]bool // package and test
	failed   []failure
	broken   bool // a package failed without a test that failed, or with one that did not end
	count    count
}

func newResults() *results {
	return &results{
		running: map[string]map[string]*test{}, loose: map[string]string{},
		missing: map[string]int{}, skips: map[string]bool{},
	}
}

// take adds an event, and returns what is to be printed now.
func (r *results) take(e event) string {
	switch {
	case e.ImportPath != "":
		return e.Output // what a compiler says
	case e.Test != "":
		return r.takeTest(e)
	}
	switch e.Action {
	case "output":
		r.loose[e.Package] += e.Output
	case "pass", "fail", "skip":
		return r.endPackage(e)
	}
	return ""
}

func (r *results) takeTest(e event) string {
	tests := r.running[e.Package]
	if tests == nil {
		tests = map[string]*test{}
		r.running[e.Package] = tests
	}
	t := tests[e.Test]
	if t == nil {
		t = &test{since: e.Time}
		tests[e.Test] = t
	}
	switch e.Action {
	case "pause":
		t.paused = true
	case "cont":
		t.paused, t.since = false, e.Time
	case "output":
		t.output += e.Output
	case "pass", "fail", "skip":
		delete(tests, e.Test)
		return r.endTest(e, t)
	}
	return ""
}

// missingServer is what a test says that a server is missing for; see proctest.Need.
var missingServer = regexp.MustCompile(`SKIPPED, (not installed: .*)`)

func (r *results) endTest(e event, t *test) string {
	switch e.Action {
	case "pass":
		r.count.passed++
	case "fail":
		r.count.failed++
	case "skip":
		r.count.skipped++
		r.skips[e.Package+" "+e.Test] = true
		if found := missingServer.FindStringSubmatch(t.output); found != nil {
			r.missing[found[1]]++
		}
	}
	if !strings.Contains(e.Test, "/") {
		r.tests = append(r.tests, timing{e.Package, e.Test, e.Elapsed})
	}
	if e.Action == "fail" {
		r.fail(e, t.output)
		return t.output
	}
	return ""
}

// fail notes a test that failed. Its parts end before it does.
func (r *results) fail(e event, said string) {
	name, _, _ := strings.Cut(e.Test, "/")
	i := slices.IndexFunc(r.failed, func(f failure) bool {
		return f.pkg == e.Package && f.test == name
	})
	if i < 0 {
		i = len(r.failed)
		r.failed = append(r.failed, failure{pkg: e.Package, test: name})
	}
	r.failed[i].final = r.failed[i].final || final.MatchString(said)
}

// endPackage returns the line of a package, and before it what it has printed and which tests did
// not end, if it failed.
func (r *results) endPackage(e event) string {
	said, unended := r.loose[e.Package], r.running[e.Package]
	delete(r.running, e.Package)
	delete(r.loose, e.Package)
	took := timing{e.Package, "", e.Elapsed}
	switch {
	case e.Action == "fail":
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(unended))) {
			said = unended[name].output + said
		}
		r.packages = append(r.packages, took)
		failed := slices.ContainsFunc(r.failed, func(f failure) bool { return f.pkg == e.Package })
		if !failed || len(unended) > 0 || final.MatchString(said) {
			r.broken = true
		}
		if r.count.failed == 0 {
			r.count.failed = 1 // a package that does not build, or whose TestMain fails
		}
		return said + line("FAIL", took, "")
	case strings.Contains(said, "[no test files]") || e.Action == "skip":
		return ""
	case strings.Contains(said, "(cached)"):
		return line("ok", timing{e.Package, "", 0}, ", cached")
	}
	r.packages = append(r.packages, took)
	return line("ok", took, "")
}

// slowest returns the longest n of these, the longest first.
func slowest(of []timing, n int) []timing {
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	return of[:min(n, len(of))]
}
