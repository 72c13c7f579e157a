package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutant is one way to break the code.
type mutant struct {
	name     string
	file     string // from the module's root
	old, new string // old occurs once in file
	pkg      string // the package with the test
	test     string // which must fail
}

// TestMutants applies each of the mutants, some at a time. It fails for each that its test does
// not notice, and for each that does not build: that would prove nothing.
func TestMutants(t *testing.T) {
	if os.Getenv("UNALIKE_MUTANTS") == "" {
		t.Skip("the mutants take minutes; make mutants runs them (UNALIKE_MUTANTS=1)")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Concat(clockMutants, coreMutants, keeperMutants, driverMutants, operatorMutants,
		keeperFixMutants,
		etcdFixMutants,
	) {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			out, err := m.run(t, root)
			switch {
			case err == nil:
				t.Errorf("%s: %s did not notice", m.name, m.test)
			case !strings.Contains(out, "--- FAIL: "+m.test) && !strings.Contains(out, "panic: test timed out"):
				t.Errorf("%s: %s neither passed nor failed:\n%s", m.name, m.test, out)
			}
		})
	}
}

// run tests the module with m applied and returns what the go command printed.
func (m *mutant) run(t *testing.T, root string) (string, error) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s contains the text to change %d times, want once:\n%s", m.file, n, m.old)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(path))
	overlay := filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		changed: []byte(strings.Replace(string(source), m.old, m.new, 1)),
		overlay: replace,
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=60s", "-overlay="+overlay, "-run=^"+m.test+"$", m.pkg)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}
