package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestModule_ProgramsOfOthers: in a module elsewhere that knows no checksum, all programs in the
// documents build, with this module as a proxy serves it, and the first of them prints an ID.
func TestModule_ProgramsOfOthers(t *testing.T) {
	if fulltest.Rounds(0, 1) == 0 {
		t.Skip("left out without UNALIKE_FULL: everything is compiled anew")
	}
	t.Parallel()
	proxy, user := serveModule(t, "v0.1.0"), t.TempDir()
	write(t, filepath.Join(user, "go.mod"), []byte("module example.test/user\n\ngo 1.26.0\n"))
	for _, page := range pages(t) {
		for i, program := range blocks(readFile(t, page), "go") {
			name := "main.go"
			if strings.Contains(program, "\n\t\"testing\"\n") {
				name = "recipe_test.go"
			}
			folder := strings.NewReplacer("/", "_", ".md", "").Replace(page)
			write(t, filepath.Join(user, fmt.Sprint(folder, i), name), []byte(program))
		}
	}
	known, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	places := strings.Fields(string(known))
	modules := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = user
		cmd.Env = append(os.Environ(), "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOMODCACHE="+modules,
			"GOPROXY=file://"+proxy+",file://"+filepath.Join(places[0], "cache", "download")+","+places[1])
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("go", "mod", "tidy")
	run("go", "vet", "./...")
	run("go", "build", "-o", "first", "./README0")
	began := time.Now()
	out := run("./first")
	t.Logf("the first program ended after %v: %s", time.Since(began), out)
	if strings.Count(out, "\n") > 2 {
		t.Errorf("the first program prints more than an ID and a line of the log:\n%s", out)
	}
}

// serveModule returns a folder that is a module proxy with this module as it stands.
func serveModule(t *testing.T, version string) string {
	t.Helper()
	const module = "github.com/unalike-id/unalike"
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if name != "." && (nested == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		w, err := archive.Create(module + "@" + version + "/" + filepath.ToSlash(name))
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	})
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy := t.TempDir()
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	write(t, filepath.Join(at, "list"), []byte(version+"\n"))
	write(t, filepath.Join(at, version+".info"), fmt.Appendf(nil, `{"Version":%q}`, version))
	write(t, filepath.Join(at, version+".mod"), []byte(readFile(t, "go.mod")))
	write(t, filepath.Join(at, version+".zip"), packed.Bytes())
	return proxy
}

// write writes a file, and makes its folder.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
