package main

import (
	"bytes"
	"fmt"
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
	for request, arg := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Fatal(errno)
		}
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// setSize makes a terminal so many lines and columns large.
func setSize(t *testing.T, tty *os.File, lines, columns uint16) {
	t.Helper()
	size := [4]uint16{lines, columns}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		t.Fatal(errno)
	}
}

// allOf returns all that a screen shows, once the program has ended and closed its end.
func allOf(screen *os.File) <-chan string {
	shown := make(chan string, 1)
	go func() {
		var all []byte
		buf := make([]byte, 4096)
		for {
			n, err := screen.Read(buf)
			all = append(all, buf[:n]...)
			if err != nil {
				shown <- string(all)
				return
			}
		}
	}()
	return shown
}

// TestProgressOnTerminal runs the program with a terminal for its standard error
// output, where a long run shows how far it is, and a short one does not.
func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		count, kind string
		want        bool
	}{{"1500000", "xterm", true}, {"1500000", "dumb", false}, {"1000", "xterm", false}} {
		count, want := tt.count, tt.want
		screen, tty := openTerminal(t)
		shown := allOf(screen)
		cmd := exec.Command(path, "generate", "--count", count, "--coordinator", noState(t, "6"))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, tty
		cmd.Env = append(os.Environ(), "TERM="+tt.kind)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if err := tty.Close(); err != nil {
			t.Fatal(err)
		}
		got := <-shown
		if strings.Contains(got, "generating") != want || strings.Contains(got, "IDs/s") != want {
			t.Errorf("%s IDs on %s: the terminal shows %q", count, tt.kind, got)
		}
		if !strings.Contains(got, "unalike: warning: ") { // it has no state file
			t.Errorf("the log on a terminal is not for a person: %q", got)
		}
		if fmt.Sprint(bytes.Count(out.Bytes(), []byte("\n"))) != count {
			t.Errorf("%d lines, want %s", bytes.Count(out.Bytes(), []byte("\n")), count)
		}
	}
}
