// Command platforms checks the types of every package, tests included, for platforms that this
// machine is not: what does not compile there is found without a compiler, in seconds instead of
// minutes. What a linker or an assembler would find is not; scripts/cross builds the command for
// that.
//
//	go run ./internal/platforms [-C FOLDER] GOOS/GOARCH...
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	folder := flag.String("C", ".", "check the module in this `folder`")
	flag.Parse()
	code := 0
	for _, platform := range flag.Args() {
		began := time.Now()
		mistakes, err := check(*folder, platform)
		for _, m := range mistakes {
			fmt.Printf("%s: %v\n", platform, m)
		}
		if err != nil {
			fmt.Printf("%s: %v\n", platform, err)
		}
		if err != nil || len(mistakes) > 0 {
			code = 1
			continue
		}
		fmt.Printf("%-14s has the right types, %.1f s\n", platform, time.Since(began).Seconds())
	}
	os.Exit(code)
}

// listed is what the go command says of a package, or of one together with its tests.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// check returns what is wrong with the packages of the module in a folder on a platform.
func check(folder, platform string) ([]error, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok || types.SizesFor(build.Default.Compiler, arch) == nil {
		return nil, fmt.Errorf("%q is no platform; want GOOS/GOARCH, such as linux/386", platform)
	}
	packages, err := list(folder, system, arch)
	if err != nil {
		return nil, err
	}
	c := &checker{
		fset: token.NewFileSet(), sizes: types.SizesFor(build.Default.Compiler, arch),
		done: map[string]*types.Package{"unsafe": types.Unsafe},
	}
	for _, p := range packages {
		c.check(p)
	}
	return c.mistakes, nil
}

// list returns the packages of a module, with their tests and all that they import, which comes
// first.
func list(folder, system, arch string) ([]*listed, error) {
	//nolint:noctx // it takes a second
	cmd := exec.Command("go", "list", "-deps", "-test",
		"-json=ImportPath,Dir,GoFiles,ImportMap,Module,Error", "./...")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var packages []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		p := &listed{}
		if err := dec.Decode(p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// checker checks packages, each after those that it imports.
type checker struct {
	fset     *token.FileSet
	sizes    types.Sizes
	done     map[string]*types.Package // by what the go command calls them
	mistakes []error
}

// importer finds what a package imports.
type importer struct {
	*checker
	renamed map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if other, ok := i.renamed[path]; ok {
		path = other
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s was not listed", path)
}

func (c *checker) check(p *listed) {
	if p.Error != nil {
		c.mistakes = append(c.mistakes, errors.New(p.Error.Err))
		return
	}
	if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
		// the latter is the go command's own
		return
	}
	ours := p.Module != nil && p.Module.Main
	config := types.Config{
		Importer: importer{c, p.ImportMap}, Sizes: c.sizes, IgnoreFuncBodies: !ours, FakeImportC: true,
		Error: func(err error) { c.mistakes = append(c.mistakes, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			c.mistakes = append(c.mistakes, err)
			return
		}
		files = append(files, f)
	}
	// the rest says for which tests it is
	path, _, _ := strings.Cut(p.ImportPath, " ")
	c.done[p.ImportPath], _ = config.Check(path, c.fset, files, nil) // mistakes are collected above
}
