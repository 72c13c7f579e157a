package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// TestWorkflows: actionlint finds nothing in the hosted workflows, and one of them runs what CI
// runs.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	// a module of its own: it needs another YAML than compose's library
	args := []string{"tool", "-C", "actionlint", "actionlint"}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(read(t, files[0]), "run: .ci/run\n") {
		t.Errorf("%s does not run .ci/run", files[0])
	}
}

// TestReleaseDryRun: a release of a clean checkout with a section in the changelog says what would
// be done, and nothing else is released.
func TestReleaseDryRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, file := range []string{
		"scripts/release", "CHANGELOG.md", "deploy/helm/unalike/Chart.yaml",
		"deploy/compose/compose.yaml",
	} {
		path := filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // it is no secret
			t.Fatal(err)
		}
		text := read(t, filepath.Join(repository, file))
		//nolint:gosec // it is run
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "all"}} {
		if out, err := run("git", args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	out, err := run("scripts/release", "v0.1.0")
	for _, want := range []string{
		"== the changelog of v0.1.0\n", "### Added\n",
		"== there is no earlier version", "== not tagged",
	} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: want %q in\n%s", err, want, out)
		}
	}
	for args, want := range map[string]string{
		"": "name a version", "0.1.0": "name a version",
		"v0.2.0": `no section "## 0.2.0"`, "v0.1": "name a version",
	} {
		if out, err := run("scripts/release", args); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v: want %q in\n%s", args, err, want, out)
		}
	}
	if out, err := run("scripts/release", "v0.1.0", "tag"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := run("scripts/release", "v0.1.0"); err == nil ||
		!strings.Contains(out, "is there already") {
		t.Errorf("%v: %s", err, out)
	}
	put(t, folder, "CHANGELOG.md", "")
	if out, err := run("scripts/release", "v0.1.1"); err == nil ||
		!strings.Contains(out, "not committed") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSnapshot: goreleaser takes its file and builds all of it; the package for Debian has unit and
// completions, and the program in it says version and commit.
func TestSnapshot(t *testing.T) {
	fulltest.Long(t, "it builds goreleaser, and the program for six platforms")
	if fulltest.Rounds(0, 1) == 0 {
		t.Skip("SKIPPED: only make full builds a release")
	}
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = repository
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	run("scripts/release", "check")
	debs, err := filepath.Glob(filepath.Join(repository, "dist", "*_linux_amd64.deb"))
	if err != nil || len(debs) != 1 {
		t.Fatalf("%v, %v", debs, err)
	}
	all, err := filepath.Glob(filepath.Join(repository, "dist", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"_linux_amd64.tar.gz", "_linux_arm64.tar.gz", "_darwin_amd64.tar.gz", "_darwin_arm64.tar.gz",
		"_windows_amd64.zip",
		"_windows_arm64.zip", "_linux_arm64.deb", "checksums.txt", ".cdx.json",
	} {
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("there is no *%s among %v", want, all)
		}
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("SKIPPED, not installed: dpkg-deb opens the package; on Debian and its kin: apt-get " +
			"install dpkg")
	}
	folder := t.TempDir()
	deb, err := filepath.Abs(debs[0])
	if err != nil {
		t.Fatal(err)
	}
	run("dpkg-deb", "--extract", deb, folder)
	for _, want := range []string{
		"usr/lib/systemd/system/unalike.service", "etc/unalike/serve.yaml",
		"usr/share/bash-completion/completions/unalike",
		"usr/share/zsh/vendor-completions/_unalike", "usr/share/fish/vendor_completions.d/unalike.fish",
	} {
		if info, err := os.Stat(filepath.Join(folder, want)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", want, err)
		}
	}
	commit := strings.TrimSpace(run("git", "rev-parse", "HEAD"))
	if out := run(filepath.Join(folder, "usr/bin/unalike"), "--version"); !strings.HasPrefix(out,
		"unalike v") || !strings.Contains(out, "(commit "+commit+")") {
		t.Errorf("it says %q; want a version and %s", out, commit)
	}
}
