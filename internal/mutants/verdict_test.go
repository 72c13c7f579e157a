package main

import (
	"strings"
	"testing"
)

// TestVerdict: only a test that has failed, or that does not end where that is the effect, has
// noticed.
func TestVerdict(t *testing.T) {
	failed := errFailed{}
	const full = "=== RUN   TestX\nfatal error: runtime: out of memory\n"
	const timeout = "=== RUN   TestX\npanic: test timed out after 20s\n\trunning " +
		"tests:\n\t\tTestX (20s)\n"
	for _, tt := range []struct {
		name  string
		hangs bool
		res   result
		want  string // what the verdict contains; noticed if ""
	}{
		{
			name: "out of memory", res: result{output: full, err: failed},
			want: "neither passed nor failed",
		},
		{name: "a loop without end, out of memory", hangs: true, res: result{output: full, err: failed}},
		{name: "passed", res: result{output: "--- PASS: TestX (0.00s)\n"}, want: "did not notice"},
		{name: "failed", res: result{output: "=== RUN   TestX\n--- FAIL: TestX (0.00s)\n", err: failed}},
		{name: "failed first of all", res: result{output: "--- FAIL: TestX (0.00s)\n", err: failed}},
		{
			name: "another failed", res: result{output: "--- FAIL: TestXY (0.00s)\n", err: failed},
			want: "neither",
		},
		{
			name: "a part failed", res: result{output: "    --- FAIL: TestX (0.00s)\n", err: failed},
			want: "neither",
		},
		{
			name: "process died", res: result{output: "fatal error: out of memory\n", err: failed},
			want: "neither",
		},
		{name: "timed out", res: result{output: timeout, err: failed}, want: "did not end"},
		{
			name: "both", res: result{output: timeout + "--- FAIL: TestX (0.00s)\n", err: failed},
			want: "did not end",
		},
		{name: "hangs", hangs: true, res: result{output: timeout, err: failed}},
		{
			name: "hangs but failed", hangs: true,
			res: result{output: "--- FAIL: TestX (0.00s)\n", err: failed},
		},
		{
			name: "hangs but passed", hangs: true, res: result{output: "--- PASS: TestX (0.00s)\n"},
			want: "did not notice",
		},
	} {
		m := mutant{hangs: tt.hangs}
		got := m.verdict(test{"p", "TestX"}, tt.res)
		if (got == nil) != (tt.want == "") || got != nil && !strings.Contains(got.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, got, tt.want)
		}
	}
}

// TestUsable: a test that fails, is skipped or is not there on the unchanged code notices nothing.
func TestUsable(t *testing.T) {
	for _, tt := range []struct {
		name string
		res  result
		want string // what the answer contains; the test can notice if ""
	}{
		{name: "passed", res: result{output: "--- PASS: TestX (0.00s)\nPASS\n"}},
		{
			name: "a part skipped",
			res:  result{output: "    --- SKIP: TestX/a (0.00s)\n--- PASS: TestX (0.00s)\n"},
		},
		{
			name: "no such test", res: result{output: "testing: warning: no tests to run\nPASS\n"},
			want: "there is no p.TestX",
		},
		{name: "skipped", res: result{output: "--- SKIP: TestX (0.00s)\nPASS\n"}, want: "is skipped"},
		{
			name: "failed", res: result{output: "--- FAIL: TestX (0.00s)\n", err: errFailed{}},
			want: "unchanged code",
		},
	} {
		got := tt.res.usable(test{"p", "TestX"})
		if (got == nil) != (tt.want == "") || got != nil && !strings.Contains(got.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, got, tt.want)
		}
	}
}

// errFailed is how a test program ends whose test failed.
type errFailed struct{}

func (errFailed) Error() string { return "exit status 1" }
