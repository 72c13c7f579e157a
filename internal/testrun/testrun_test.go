package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// planted writes a module of one package, and a list of reasons, and returns its folder.
func planted(t *testing.T, test string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":      "module example.com/planted\n\ngo 1.26\n",
		"x_test.go":   "package planted\n\nimport (\n\"os\"\n\"testing\"\n)\n\nvar _ = os.Args\n" + test,
		"reasons.tsv": "# what\twhy\na\tit waits\na TestB\tit waits, too\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// once is what a planted test does when it runs first.
func once(what string) string {
	return "if _, err := os.Stat(\"ran\"); err != nil { " + what +
		"; _ = os.WriteFile(\"ran\", nil, 0o600) }"
}

// TestRun: the exit code is that of go test, what failed is printed, and what was missing stands at
// the end.
func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		test string
		code int
		want string
	}{
		"passes": {
			"func TestA(t *testing.T) { t.Log(\"said\") }\n", 0,
			`^ok +\d.* s  example.com/planted\n(?s:.*)1 passed, 0 failed, 0 skipped, with their parts\n$`,
		},
		"fails": {
			"func TestA(t *testing.T) { t.Error(\"said\") }\n", 1,
			`(?s)said\n.*--- FAIL: TestA.*FAIL .*example.com/planted\n.*0 passed, 1 failed`,
		},
		"panics": {
			"func TestA(t *testing.T) { panic(\"said\") }\n", 1,
			`(?s)panic: said.*FAIL .*example.com/planted\n.*0 passed, 1 failed`,
		},
		"does not vet": {
			"func TestA(t *testing.T) { t.Errorf(\"%d\", \"said\") }\n", 1,
			`(?s)has arg "said" of wrong type.*FAIL .*example.com/planted\n.*0 passed, 1 failed`,
		},
		"does not build": {
			"func TestA(t *testing.T) { said }\n", 1,
			`(?s)undefined: said.*FAIL .*example.com/planted\n.*0 passed, 1 failed`,
		},
		"fails beside others": {
			"func TestA(t *testing.T) { t.Run(\"part\", func(t *testing.T) {" +
				once(`t.Error("late")`) + "}) }\n", 0,
			`(?s)--- FAIL: TestA/part.*2 failed.*fix them:\nFLAKY\texample.com/planted\tTestA\n$`,
		},
		"fails alone, too": {
			"func TestA(t *testing.T) { t.Error(\"late\") }\n", 1,
			`(?s)planted TestA: it or its package fails alone`,
		},
		"skips alone": {"func TestA(t *testing.T) {" + once(`defer t.Error("late")`) +
			" else { t.Skip() } }\n", 1, `planted TestA: it or its package fails alone`},
		"leaves a mess alone": {
			"func TestA(t *testing.T) {" + once(`defer t.Error("late")`) +
				"}\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(1) }\n", 1,
			`planted TestA: it or its package fails alone`,
		},
		"panics once": {
			"func TestA(t *testing.T) {" + once(`defer panic("late")`) + "}\n",
			1, `failed, 0 skipped, with their parts\n$`,
		},
		"does not end as it should": {
			"func TestA(t *testing.T) {}\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(1) }\n", 1,
			`1 failed, 0 skipped, with their parts\n$`,
		},
		"lacks a server": {
			"func TestA(t *testing.T) { t.Skip(\"SKIPPED, not installed: x. apt-get install x\") }\nfunc " +
				"TestB(t *testing.T) { t.Skip(\"SKIPPED, not installed: x. apt-get install x\") }\n", 0,
			`0 passed, 0 failed, 2 skipped, with their parts\nSKIPPED: 2 tests: not installed: x. apt-get ` +
				`install x\n$`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			code, err := run([]string{"-C", planted(t, c.test), "--", "-count=1", "."}, &out, "")
			if err != nil || code != c.code || !regexp.MustCompile(c.want).MatchString(out.String()) {
				t.Errorf("code %d, %v; want %d; printed\n%s\nwant %s", code, err, c.code, &out, c.want)
			}
		})
	}
}

// TestForgive: a violation ends red although it does not happen again. A failure that is none is
// forgiven, and listed as flaky for the end of all steps, too.
func TestForgive(t *testing.T) {
	t.Setenv("UNALIKE_TEST_RAN", t.TempDir())
	for name, flaky := range map[string]string{
		"TestDuplicate": "", "TestOrder": "",
		"TestLate": "FLAKY\tinternal/testrun/testdata/planted\tTestLate\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := filepath.Join(t.TempDir(), "steps")
			if err := os.WriteFile(steps, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			code, err := run([]string{"--", "-run=^" + name + "$", "./testdata/planted"}, &out, steps)
			list, readErr := os.ReadFile(steps)
			if wrong := errors.Join(err, readErr); wrong != nil || (code == 0) != (flaky != "") ||
				!strings.Contains(out.String(), "--- FAIL: "+name) || string(list) != flaky ||
				!strings.HasSuffix(out.String(), flaky) {
				t.Errorf("code %d, %v; listed %q; want %q; printed\n%s", code, wrong, list, flaky, &out)
			}
		})
	}
}

// TestBadArguments: what is wrong is named.
func TestBadArguments(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.tsv")
	if err := os.WriteFile(bad, []byte("a\twhy\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, err := run([]string{"-rule", bad}, &strings.Builder{}, ""); code != 2 || err == nil ||
		!strings.Contains(err.Error(), `:2: "b"`) {
		t.Errorf("code %d, %v; want 2 and the line", code, err)
	}
	if code, err := run([]string{"-rule", bad + "x"}, &strings.Builder{}, ""); code != 2 ||
		!errors.Is(err, os.ErrNotExist) {
		t.Errorf("code %d, %v; want 2 and that the file does not exist", code, err)
	}
}

// TestSilence: what has been running is told after 20 s in which nothing ended, and not before; a
// test that is paused, or has ended, is not named.
func TestSilence(t *testing.T) {
	t.Parallel()
	lines, ticks, began := make(chan []byte), make(chan time.Time), time.Now()
	var out strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		follow(newResults(), lines, ticks, began, &out)
	}()
	at := began.Format(time.RFC3339Nano)
	for _, e := range []string{
		`"Action":"run","Package":"` + module + `a","Test":"TestSlow"`,
		`"Action":"run","Package":"` + module + `a","Test":"TestSlow/part"`,
		`"Action":"run","Package":"b","Test":"TestPaused"`,
		`"Action":"pause","Package":"b","Test":"TestPaused"`,
		`"Action":"run","Package":"b","Test":"TestEnded"`,
		`"Action":"pass","Package":"b","Test":"TestEnded"`,
	} {
		lines <- []byte(`{"Time":"` + at + `",` + e + "}\n")
	}
	ticks <- began.Add(silence - time.Second)
	ticks <- began.Add(silence)
	ticks <- began.Add(2*silence - time.Second)
	close(lines)
	<-done
	if want := "  after 20 s: a TestSlow for 20 s\n"; out.String() != want {
		t.Errorf("printed %q, want %q", &out, want)
	}
}

// TestTooSlow: what is slow without a reason is warned about.
func TestTooSlow(t *testing.T) {
	reasons, err := readReasons(filepath.Join(planted(t, ""), "reasons.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	r := newResults()
	r.packages = []timing{{"a", "", 31}, {"b", "", 31}, {"c", "", 29}}
	r.tests = []timing{{"a", "TestX", 6}, {"b", "TestB", 6}, {"b", "TestC", 4}}
	want := []string{"package b took 31.0 s, 30 are allowed", "b TestB took 6.0 s, 5 are allowed"}
	if got := r.tooSlow(reasons); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	reasons["b TestB"] = "it waits"
	if got := r.tooSlow(reasons); len(got) != 1 {
		t.Errorf("with a reason: %q", got)
	}
}

// TestReasons: the list of the project can be read.
func TestReasons(t *testing.T) {
	if reasons, err := readReasons("slow.tsv"); err != nil || len(reasons) == 0 {
		t.Errorf("%d reasons, %v", len(reasons), err)
	}
}

// TestServers: another server, or another version, is another hash.
func TestServers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	none := servers()
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte("1"), 0o700); err != nil {
		t.Fatal(err)
	}
	one := servers()
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte("22"), 0o700); err != nil {
		t.Fatal(err)
	}
	if two := servers(); none == one || one == two || two != servers() {
		t.Errorf("hashes %s, %s, %s: want three, and the same for the same", none, one, two)
	}
}
