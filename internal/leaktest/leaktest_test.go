package leaktest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// planted makes a run of this program leave a goroutine behind: its value is what may stay.
const planted = "UNALIKE_TEST_LEAK"

func TestMain(m *testing.M) {
	if allowed, ok := os.LookupEnv(planted); ok {
		os.Exit(run(forgetful{m}, 0, strings.Fields(allowed)))
	}
	Main(m)
}

// forgetful are tests that leave a goroutine behind, which never ends.
type forgetful struct{ *testing.M }

func (f forgetful) Run() int {
	go forgotten(make(chan struct{}))
	return f.M.Run()
}

func forgotten(end chan struct{}) { <-end }

// TestPlanted: a goroutine that is left behind fails tests that have passed, and is named. One
// that is allowed does not.
func TestPlanted(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for allowed, want := range map[string]bool{
		"": true, "some.other": true,
		"github.com/unalike-id/unalike/internal/leaktest.forgotten": false,
	} {
		cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestPatience$", "-test.short")
		cmd.Env = append(os.Environ(), planted+"="+allowed)
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), "PASS") || (err != nil) != want ||
			strings.Contains(string(out), "leaktest.forgotten") != want ||
			strings.Contains(string(out), safetytest.Marker) != want {
			t.Errorf("with %q allowed: %v:\n%s", allowed, err, out)
		}
	}
}

// TestPatience: a goroutine that ends late is waited for.
func TestPatience(t *testing.T) {
	if testing.Short() {
		return
	}
	go time.Sleep(2 * time.Second) // longer than a look takes
	if err := leftOver(timeout, nil); err != nil {
		t.Error(err)
	}
}

// TestEveryPackage: every package whose code starts goroutines, and has tests, looks for those
// that these leave behind.
func TestEveryPackage(t *testing.T) {
	const root = "../.."
	starts, looks, tested := map[string]string{}, map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() != ".." && (d.Name() == "testdata" || d.Name() == "benchmarks" ||
			strings.HasPrefix(d.Name(), ".") || hasModule(at)):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(at, ".go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, test := filepath.Dir(at), strings.HasSuffix(at, "_test.go")
		tested[folder] = tested[folder] || test
		ast.Inspect(file, func(n ast.Node) bool {
			switch what := startsGoroutine(n); {
			case test && isCall(n, "leaktest", "Main", "Run"):
				looks[folder] = true
			case !test && what != "":
				starts[folder] = what
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(starts) < 10 {
		t.Errorf("goroutines are started in %v only: does this test still find them?", starts)
	}
	for folder, what := range starts {
		if tested[folder] && !looks[folder] && folder != "." {
			t.Errorf("%s has %s and its TestMain does not call leaktest.Main", folder, what)
		}
	}
}

// hasModule reports whether a folder is that of a nested module, which tools and tests have alone.
func hasModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil && filepath.Clean(folder) != filepath.Clean("../..")
}

// startsGoroutine says with what n starts a goroutine; empty: it does not.
func startsGoroutine(n ast.Node) string {
	if _, ok := n.(*ast.GoStmt); ok {
		return "a go statement"
	}
	if call, ok := n.(*ast.CallExpr); ok {
		if f, ok := call.Fun.(*ast.SelectorExpr); ok &&
			(f.Sel.Name == "Go" || f.Sel.Name == "AfterFunc") {
			return "a call of " + f.Sel.Name
		}
	}
	return ""
}

// isCall reports whether n calls one of the functions of a package.
func isCall(n ast.Node, pkg string, names ...string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg && slices.Contains(names, f.Sel.Name)
}
