package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// unitsIn is where the units of systemd are.
const unitsIn = "../systemd"

// TestUnits: systemd understands each unit, and finds it little exposed.
func TestUnits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: there is no systemd")
	}
	proctest.Need(t, "systemd", "systemd-analyze")
	files, err := filepath.Glob(filepath.Join(unitsIn, "*.service"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text := read(t, file)
		for _, line := range strings.Split(text, "\n") {
			if command, ok := strings.CutPrefix(line, "ExecStart="); ok {
				text = strings.Replace(text, strings.Fields(command)[0], "/bin/true", 1) // which is there
			}
		}
		copied := put(t, t.TempDir(), filepath.Base(file), text)
		if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify",
			copied).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager",
			"--offline=true", "--threshold=20", copied).CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Log(lines[len(lines)-1])
		if err != nil {
			t.Errorf("%s: more than 2.0: %v\n%s", file, err, out)
		}
	}
}

// TestUnitServes: the command line of the unit serves as another user without capabilities who may
// write into its own folder alone, and says when it is ready and when it stops.
func TestUnitServes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("SKIPPED: other users and namespaces need root on Linux")
	}
	proctest.Need(t, "util-linux mount", "setpriv", "unshare", "mount")
	unit := map[string]string{}
	for line := range strings.Lines(read(t, filepath.Join(unitsIn, "unalike.service"))) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			unit[key] = value
		}
	}
	args := strings.Fields(unit["ExecStart"])
	if len(args) != 4 || args[0] != "/usr/bin/unalike" || args[1] != "serve" ||
		args[2] != "--config" || args[3] != "/etc/unalike/serve.yaml" {
		t.Fatalf("the unit runs %v", args)
	}
	// It is in /tmp, where another user can reach it.
	folder, err := os.MkdirTemp("", "unit") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	state := filepath.Join(folder, "unalike")
	//nolint:gosec // another user reads it
	if err := errors.Join(os.Chmod(folder, 0o755), os.Mkdir(state, 0o700),
		os.Chown(state, user, user)); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(read(t, filepath.Join(unitsIn, "serve.yaml")), "127.0.0.1:8081",
		"127.0.0.1:0", 1)
	config := put(t, folder, "serve.yaml", text)
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{
		Name: filepath.Join(folder, "notify"),
		Net:  "unixgram",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = told.Close() }()
	//nolint:gosec // another user writes to it
	if err := os.Chmod(filepath.Join(folder, "notify"), 0o777); err != nil {
		t.Fatal(err)
	}
	// What ProtectSystem=strict, StateDirectory, DynamicUser, NoNewPrivileges, CapabilityBoundingSet
	// and UMask do.
	const restrict = `mount --bind "$1" "$1" && mount -o remount,bind,ro / && umask "$2" && shift 2 ` +
		`&& exec setpriv --reuid=65532 --regid=65532 --clear-groups --no-new-privs --bounding-set=-all ` +
		`--inh-caps=-all -- "$@"`
	cmd := exec.Command("unshare", "--mount", "--propagation=private", "sh", "-c", restrict, "sh",
		state, unit["UMask"],
		command(t), "serve", "--config", config, "--listen", "127.0.0.1:0")
	cmd.Dir = "/"
	cmd.Env = []string{
		strings.ReplaceAll(unit["Environment"], "%S", folder),
		"PATH=" + os.Getenv("PATH"), "NOTIFY_SOCKET=" + told.LocalAddr().String(), "HOME=/",
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", "--mount",
		"true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, mount namespaces are not allowed here: %v, %s", err, out)
	}
	s := start(t, cmd)
	s.serves()
	s.stop()
	got := make([]byte, 100)
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		_ = told.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := told.Read(got); err != nil || string(got[:n]) != want {
			t.Errorf("systemd is told %q, %v; want %q", got[:n], err, want)
		}
	}
}
