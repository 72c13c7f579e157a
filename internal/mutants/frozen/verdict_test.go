package frozen

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// missing returns why the result of the unchanged code shows that a test cannot notice anything, or "".
func (r result) missing(test string) string {
	switch {
	case strings.Contains(r.output, "testing: warning: no tests to run"):
		return "there is no " + test
	case r.err != nil:
		return fmt.Sprintf("%s fails on the unchanged code too: %v\n%s", test, r.err, r.output)
	case r.ended("SKIP", test):
		return fmt.Sprintf("%s is skipped:\n%s", test, r.output)
	}
	return ""
}

// outOfMemory is what a Go program says that may have no more memory.
var outOfMemory = regexp.MustCompile(`(?m)^fatal error: .*(out of|allocate) memory`)

// verdict returns why r does not show that the test noticed m, or "". A test that does not end is no test that has
// failed: it may be the machine that is slow. It counts only for mutants of which that is the effect.
func (m *mutant) verdict(r result) string {
	switch {
	case r.err == nil:
		return m.test + " did not notice"
	case m.hangs && outOfMemory.MatchString(r.output):
		return "" // it has filled its memory before its time was over
	case strings.Contains(r.output, "panic: test timed out after "):
		if m.hangs {
			return ""
		}
		return fmt.Sprintf("%s did not end within %v; a mutant whose effect is a hang says so (hangs)\n%s",
			m.test, patience, r.output)
	case !r.ended("FAIL", m.test):
		return fmt.Sprintf("%s neither passed nor failed: %v\n%s", m.test, r.err, r.output)
	}
	return ""
}

// ended reports whether the test, and not only a part of it, ended so.
func (r result) ended(how, test string) bool {
	return strings.Contains("\n"+r.output, "\n--- "+how+": "+test+" (")
}

func TestVerdict(t *testing.T) {
	failed := errFailed{}
	const full = "=== RUN   TestX\nfatal error: runtime: out of memory\n"
	const timeout = "=== RUN   TestX\npanic: test timed out after 20s\n\trunning tests:\n\t\tTestX (20s)\n"
	for _, tt := range []struct {
		name  string
		hangs bool
		res   result
		want  string // what the verdict contains; noticed if ""
	}{
		{name: "out of memory", res: result{output: full, err: failed}, want: "neither passed nor failed"},
		{name: "a loop without end, out of memory", hangs: true, res: result{output: full, err: failed}},
		{name: "passed", res: result{output: "--- PASS: TestX (0.00s)\n"}, want: "did not notice"},
		{name: "failed", res: result{output: "=== RUN   TestX\n--- FAIL: TestX (0.00s)\n", err: failed}},
		{name: "failed first of all", res: result{output: "--- FAIL: TestX (0.00s)\n", err: failed}},
		{name: "another failed", res: result{output: "--- FAIL: TestXY (0.00s)\n", err: failed}, want: "neither"},
		{name: "a part failed", res: result{output: "    --- FAIL: TestX (0.00s)\n", err: failed}, want: "neither"},
		{name: "process died", res: result{output: "fatal error: out of memory\n", err: failed}, want: "neither"},
		{name: "timed out", res: result{output: timeout, err: failed}, want: "did not end"},
		{name: "both", res: result{output: timeout + "--- FAIL: TestX (0.00s)\n", err: failed}, want: "did not end"},
		{name: "hangs", hangs: true, res: result{output: timeout, err: failed}},
		{name: "hangs but failed", hangs: true, res: result{output: "--- FAIL: TestX (0.00s)\n", err: failed}},
		{name: "hangs but passed", hangs: true, res: result{output: "--- PASS: TestX (0.00s)\n"}, want: "did not notice"},
	} {
		m := mutant{test: "TestX", hangs: tt.hangs}
		got := m.verdict(tt.res)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestMissing(t *testing.T) {
	for _, tt := range []struct {
		name string
		res  result
		want string // what the answer contains; the test can notice if ""
	}{
		{name: "passed", res: result{output: "--- PASS: TestX (0.00s)\nPASS\n"}},
		{name: "a part skipped", res: result{output: "    --- SKIP: TestX/a (0.00s)\n--- PASS: TestX (0.00s)\n"}},
		{name: "no such test", res: result{output: "testing: warning: no tests to run\nPASS\n"}, want: "there is no TestX"},
		{name: "skipped", res: result{output: "--- SKIP: TestX (0.00s)\nPASS\n"}, want: "is skipped"},
		{name: "failed", res: result{output: "--- FAIL: TestX (0.00s)\n", err: errFailed{}}, want: "unchanged code"},
	} {
		got := tt.res.missing("TestX")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// errFailed is how a test program ends whose test failed.
type errFailed struct{}

func (errFailed) Error() string { return "exit status 1" }
