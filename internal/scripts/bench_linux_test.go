package scripts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// benchGo is a go command that measures nothing. It fails, or ends all processes of its script
// as an interruption does, where it is asked to.
const benchGo = `#!/bin/sh
case "$(basename "$PWD"): $*" in
*"$FAILS"*) echo 'planted failure'; exit 1 ;;
*"$INTERRUPTS"*) kill -TERM 0 ;;
*'./report'*) cd "$3" && for last; do :; done && echo bars >"$last/bars.md" ;;
*) echo 'Benchmark-2 1 5 ns/op' ;;
esac
`

// benchTree makes a tree for scripts/bench, with results of last time, and puts benchGo into
// the path.
func benchTree(t *testing.T) (root string) {
	t.Helper()
	bench, err := os.ReadFile(filepath.Join("..", "..", "scripts", "bench"))
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	for name, content := range map[string]string{
		"bin/go": benchGo, "bin/git": "#!/bin/sh\necho abcdef\n",
		"scripts/bench": string(bench), "scripts/servers": "", "scripts/kubernetes": "",
		"benchmarks/results/old.txt": "", "benchmarks/results.new/older.txt": "",
		"benchmarks/peers/x": "", "benchmarks/coordinators/x": "", "benchmarks/service/x": "",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	return root
}

// files are the names in a folder.
func files(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestBench: new results take the place of the old ones when all of them are there. After a
// failure and after an interruption the old ones stay, and the new ones have a place that is
// named.
func TestBench(t *testing.T) {
	const (
		never = "never"
		raw   = "benchmarks.txt coordinators.txt machine.txt peers.txt"
		all   = "benchmarks.txt benchstat.txt coordinators.txt machine.txt peers.txt service.txt"
	)
	cases := map[string]struct {
		fails, interrupts string
		code              int
		partial           string
	}{
		"nothing":            {never, never, 0, ""},
		"a suite fails":      {"service: test", never, 1, raw + " service.txt"},
		"the first one ends": {"peers: test", never, 1, "machine.txt peers.txt"},
		"interrupted":        {never, "service: test", 143, raw},
		"the report fails":   {"./report", never, 1, all},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		tt := cases[name]
		t.Run(name, func(t *testing.T) {
			root := benchTree(t)
			t.Setenv("FAILS", tt.fails)
			t.Setenv("INTERRUPTS", tt.interrupts)
			out, code := run(t, filepath.Join(root, "scripts", "bench"))
			results := files(t, filepath.Join(root, "benchmarks", "results"))
			partial := files(t, filepath.Join(root, "benchmarks", "results.new"))
			if tt.interrupts != never { // the file that was about to be written may be there
				partial = strings.TrimSuffix(partial, " service.txt")
			}
			want := "old.txt"
			if tt.code == 0 {
				want = "bars.md " + all
			}
			if code != tt.code || results != want || partial != tt.partial {
				t.Errorf("exit code %d, want %d; results are %q, want %q; partial ones %q, want %q:\n%s",
					code, tt.code, results, want, partial, tt.partial, out)
			}
			const named = "FAILED: what was measured until then is in benchmarks/results.new"
			if strings.Contains(out, named) != (tt.code != 0) {
				t.Errorf("%q is to be printed after a failure, and only then:\n%s", named, out)
			}
			if tt.code == 0 && !strings.HasSuffix(out, "\nbars\n") {
				t.Errorf("the bars are not printed at the end:\n%s", out)
			}
		})
	}
}
