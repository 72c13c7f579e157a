package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal returns both ends of a pseudo-terminal: what is written to tty is read
// from screen.
func openTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		if os.Getenv("UNALIKE_STRICT") != "" {
			t.Fatal(err)
		}
		t.Skip("there are no pseudo-terminals here:", err)
	}
	t.Cleanup(func() { screen.Close() })
	var number, unlock uint32
	for request, arg := range map[uintptr]*uint32{
		syscall.TIOCSPTLCK: &unlock,
		syscall.TIOCGPTN:   &number,
	} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request,
			uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Fatal(errno)
		}
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// allOf returns all that a screen shows, once the program has ended and closed its end.
func allOf(screen *os.File) <-chan string {
	shown := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(screen) // it ends with an error
		shown <- string(all)
	}()
	return shown
}

// showing runs the program with a terminal for its standard error output.
func showing(t *testing.T, env string, args ...string) (shown, out string) {
	t.Helper()
	screen, tty := openTerminal(t)
	all := allOf(screen)
	p := startAs(t, t.TempDir(), func(c *exec.Cmd) {
		c.Stderr, c.Env = tty, append(c.Env, env)
	}, args...)
	text, err := io.ReadAll(p.out)
	if err != nil {
		t.Fatal(err)
	}
	p.wait()
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	return <-all, string(text)
}

// TestProgressOnTerminal: on a terminal a long run shows how far it is, and a short one does not.
func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	const made = "generate --coordinator static://?worker=6&namespace=progress --count "
	for _, tt := range []struct {
		args, kind string
		lines      int
		want       string // what it says; empty: nothing
	}{
		{made + "1500000", "xterm", 1_500_000, "generating"},
		{made + "1500000", "dumb", 1_500_000, ""},
		{made + "1000", "xterm", 1000, ""},
		{"verify --plain " + writeFile(t, "ids", numbers(2_000_000)), "xterm", 1, "reading comparing"},
		{"verify --plain " + writeFile(t, "ids", numbers(1000)), "xterm", 1, ""},
	} {
		got, out := showing(t, "TERM="+tt.kind, strings.Fields(tt.args)...)
		for _, doing := range []string{"generating", "reading", "comparing"} {
			if strings.Contains(got, "\r"+doing) != strings.Contains(tt.want, doing) {
				t.Errorf("%s on %s: the terminal shows %q", tt.args, tt.kind, got)
			}
		}
		if tt.want != "" && !strings.HasSuffix(got, " \r") {
			t.Errorf("%s: the terminal shows %q at the end", tt.args, got)
		}
		if strings.HasPrefix(tt.args, made) && !strings.Contains(got, "unalike: warning: ") {
			t.Errorf("the log on a terminal is not for a person: %q", got) // it has no state file
		}
		if n := strings.Count(out, "\n"); n != tt.lines {
			t.Errorf("%s: %d lines, want %d", tt.args, n, tt.lines)
		}
	}
}
