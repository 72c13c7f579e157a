package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestVerifyDiskFull: a temporary folder on a disk that is full is named, with what to do.
func TestVerifyDiskFull(t *testing.T) {
	t.Parallel()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	file := writeFile(t, "ids", numbers(2_000_000))
	// A file system of 256 KiB that exists for this process only.
	script := `mount -t tmpfs -o size=256k none "$1" || exit 99
TMPDIR="$1" "$0" verify --plain --memory 1 "$2"; code=$?; ls -A "$1"; exit $code`
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, path,
		temp, file)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 99 ||
		bytes.Contains(out, []byte("unshare")) {
		t.Skipf("SKIPPED, this user may not mount a file system here: %v\n%s", err, out)
	}
	want := "no space left on device; make room, or name a folder on another disk in TMPDIR\n"
	if cmd.ProcessState.ExitCode() != exitFailure || !strings.HasSuffix(string(out), want) ||
		!strings.HasPrefix(string(out), "unalike: sorting in temporary files: write "+temp) {
		t.Errorf("%v\n%s\nwant ... %s", err, out, want)
	}
}
