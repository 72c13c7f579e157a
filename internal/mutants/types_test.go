//go:build !race

// The race detector has nothing to find here, and makes it take a minute.

package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestTypes checks the types of each mutant, as the compiler does before anything else: what does
// not build proves nothing, and each is built every few commits alone.
func TestTypes(t *testing.T) {
	fulltest.Long(t, "more than a thousand mutants are checked")
	packages, err := listPackages("../..")
	if err != nil {
		t.Fatal(err)
	}
	byFile := map[string][]mutant{}
	for _, m := range all {
		if filepath.Ext(m.file) != ".go" {
			continue
		}
		byFile[m.file] = append(byFile[m.file], m)
	}
	free := make(chan struct{}, runtime.NumCPU())
	var checks sync.WaitGroup
	for file, mutants := range byFile {
		checks.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			c, err := newChecker(packages, filepath.Join("../..", filepath.FromSlash(file)))
			if err != nil {
				t.Errorf("%s: %v", file, err)
				return
			}
			for _, m := range mutants {
				if err := c.check(&m); err != nil {
					t.Errorf("%s: it does not build, so it proves nothing: %v", m.name, err)
				}
			}
		})
	}
	checks.Wait()
}

// listed is what the go command says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listPackages lists the packages of the module and those that they need, with what they export.
func listPackages(root string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, err
		}
		packages = append(packages, p)
	}
}

// checker checks the types of a package with one file changed.
type checker struct {
	path, file string
	fset       *token.FileSet
	others     []*ast.File // of the package
	importer   types.Importer
}

func newChecker(packages []listed, file string) (*checker, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	c := &checker{file: file, fset: token.NewFileSet()}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
		if p.Dir != filepath.Dir(file) {
			continue
		}
		c.path = p.ImportPath
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			if path == file {
				continue
			}
			f, err := parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			c.others = append(c.others, f)
		}
	}
	if c.path == "" {
		return nil, errors.New("it is of no package of the module")
	}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c, nil
}

// check checks the package with m applied.
func (c *checker) check(m *mutant) error {
	source, err := os.ReadFile(c.file)
	if err != nil {
		return err
	}
	changed, err := parser.ParseFile(c.fset, c.file, strings.Replace(string(source), m.old, m.new, 1), parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	config := types.Config{Importer: c.importer}
	_, err = config.Check(c.path, c.fset, append([]*ast.File{changed}, c.others...), nil)
	return err
}
