package main

import (
	"bytes"
	"fmt"
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

// TestVerifyOnTerminal: a long check shows how far it is, a short one does not.
func TestVerifyOnTerminal(t *testing.T) {
	t.Parallel()
	for lines, want := range map[int]bool{3_200_000: true, 1000: false} {
		ids := writeFile(t, "ids", numbers(lines)+"1000000007\n")
		got, out := showing(t, "TERM=xterm", "verify", "--plain", ids)
		if strings.Contains(got, "\x1b[K") != want {
			t.Errorf("%d IDs: the terminal shows %q; progress should be there: %v", lines, got, want)
		}
		if want := group(fmt.Sprint(lines+1)) + " IDs: 1 duplicate\n"; !strings.HasPrefix(out, want) {
			t.Errorf("%q, want %q", out, want)
		}
	}
}
