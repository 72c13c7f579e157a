package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlanted: what compiles here and not there is found, in packages and in their tests, and
// named.
func TestPlanted(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.com/planted\n\ngo 1.26\n",
		"x.go":   "package planted\n\nconst Big = 1 << 40\n\nfunc F() int { return Big }\n",
		"x_test.go": "package planted\n\nimport (\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestA(t " +
			"*testing.T) { _ = syscall.Kill(1, 0) }\n",
		"out_test.go": "package planted_test\n\nimport " +
			"(\n\t\"testing\"\n\n\t\"example.com/planted\"\n)\n\nfunc TestB(t *testing.T) { _ = " +
			"planted.F() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string]string{
		"linux/386":     "cannot use Big",
		"windows/amd64": "undefined: syscall.Kill", "linux/amd64": "",
	} {
		t.Run(strings.ReplaceAll(platform, "/", "_"), func(t *testing.T) {
			t.Parallel()
			mistakes, err := check(dir, platform)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" && len(mistakes) > 0 || want != "" &&
				(len(mistakes) == 0 || !strings.Contains(mistakes[0].Error(), want)) {
				t.Errorf("%v, want %q", mistakes, want)
			}
		})
	}
	if _, err := check(dir, "plan10"); err == nil || !strings.Contains(err.Error(), "linux/386") {
		t.Errorf("no platform: %v", err)
	}
}
