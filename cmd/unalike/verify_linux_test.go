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
	script := `mount -t tmpfs -o size=256k none "$1" || exit 99; "$0" verify --plain --memory 1MiB --temp "$1" "$2"; code=$?; ls -A "$1"; exit $code`
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, path, temp, file)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 99 || bytes.Contains(out, []byte("unshare")) {
		t.Skipf("SKIPPED, this user may not mount a file system here: %v\n%s", err, out)
	}
	want := "no space left on device; make room, or name a folder on another disk with --temp\n"
	if cmd.ProcessState.ExitCode() != exitFailure || !strings.HasPrefix(string(out), "unalike: sorting in temporary files: write "+temp) || !strings.HasSuffix(string(out), want) {
		t.Errorf("%v\n%s\nwant ... %s", err, out, want)
	}
}

// TestVerifyOnTerminal: a long check shows how far it is, a short one does not.
func TestVerifyOnTerminal(t *testing.T) {
	t.Parallel()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	for lines, want := range map[int]bool{3_200_000: true, 1000: false} {
		screen, tty := openTerminal(t)
		shown := allOf(screen)
		cmd := exec.Command(path, "verify", "--plain", writeFile(t, "ids", numbers(lines)+"1000000007\n"))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, tty
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != exitFailure {
			t.Errorf("%v, output %q", err, &out)
		}
		if err := tty.Close(); err != nil {
			t.Fatal(err)
		}
		got := <-shown
		for _, step := range []string{"reading", "comparing", "finding lines"} {
			if strings.Contains(got, step) != want {
				t.Errorf("%d IDs: the terminal shows %q; %q should be there: %v", lines, got, step, want)
			}
		}
		if want := fmt.Sprintf("%s IDs: 1 duplicate\n", group(fmt.Sprint(lines+1))); !strings.HasPrefix(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
