package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// onTerminal runs a command line with a terminal for all three streams. What the
// person types is what answer returns for what the screen shows up to the question.
func onTerminal(t *testing.T, answer func(screen string) string, args ...string) (code int, shown string) {
	t.Helper()
	screen, tty := openTerminal(t)
	defer tty.Close()
	done := make(chan int, 1)
	go func() {
		done <- run(t.Context(), args, streams{in: tty, out: tty, err: tty}, lookupIn(nil))
		// So that whoever reads sees the end; the terminal itself stays open.
		_, _ = tty.WriteString("\x04end of run")
	}()
	buf := make([]byte, 4096)
	asked := false
	for !strings.HasSuffix(shown, "\x04end of run") {
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, shown)
		}
		shown += string(buf[:n])
		if !asked && strings.HasSuffix(shown, "Type yes to go on: ") {
			asked = true
			if _, err := screen.WriteString(answer(shown)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return <-done, strings.ReplaceAll(strings.TrimSuffix(shown, "\x04end of run"), "\r\n", "\n")
}

// endOfFile is what a person types to end the input.
const endOfFile = "\x04"

// TestAskedOnTerminal: nothing is done before the answer, and nothing unless it is
// yes.
func TestAskedOnTerminal(t *testing.T) {
	_, newSpace := newSpaces(t)
	url := newSpace()
	g := generator(t, url, core.Config{Lease: coord.LeaseConfig{Identity: "pod-a"}})
	held := g.Health().Workers[0]
	for _, command := range []struct {
		args        []string
		plan        string
		done, still string
	}{
		{[]string{"quarantine", "--for", "1h"}, "Worker IDs that are held: 1. Their holders issue IDs until their windows end", "the floor of " + url + " is ", ""},
		{[]string{"retire", "0"}, "It is held by " + holderHere(t) + " (identity pod-a) since ", "worker ID 0 of " + url + " is retired\n", "held"},
	} {
		for _, tt := range []struct {
			answer string
			code   int
		}{{"no\n", exitFailure}, {endOfFile, exitFailure}, {"\n", exitFailure}, {"yes\n", exitOK}} {
			code, shown := onTerminal(t, func(screen string) string {
				if !strings.Contains(screen, command.plan) || !strings.Contains(screen, url) {
					t.Errorf("%v: before the question the screen shows\n%s", command.args, screen)
				}
				if now := listed(t, "--coordinator", url); now[0].State != "held" {
					t.Errorf("%v: before the answer it is done: %+v", command.args, now)
				}
				return tt.answer
			}, append(command.args, "--coordinator", url)...)
			if code != tt.code || strings.Contains(shown, command.done) != (code == exitOK) || strings.Contains(shown, "unalike: nothing was changed\n") == (code == exitOK) {
				t.Errorf("%v, answer %q: exit code %d, screen\n%s", command.args, tt.answer, code, shown)
			}
		}
	}
	if held.WorkerID != 0 {
		t.Errorf("the first generator has worker ID %d", held.WorkerID)
	}
}

// TestWatchOnTerminal: the table is drawn anew in place.
func TestWatchOnTerminal(t *testing.T) {
	screen, tty := openTerminal(t)
	defer tty.Close()
	a := &app{streams: streams{out: tty, err: os.Stderr}}
	l := new(looks).then(nil, someSlots()[1:]...).then(nil, someSlots()...)
	for i := range 200 {
		l.slots[1] = append(l.slots[1], coord.Slot{WorkerID: 20 + i, State: coord.SlotFree, Until: at})
	}
	w := a.newWatch(l, &namespace{whole: true}, &workersOptions{format: choiceValue{value: formatTable}})
	if w.screen == nil {
		t.Fatal("the terminal was not recognized")
	}
	read := func() string {
		t.Helper()
		shown := ""
		buf := make([]byte, 4096)
		for !strings.HasSuffix(shown, clearBelow) {
			n, err := screen.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			shown += string(buf[:n])
		}
		return shown
	}
	look := func() string {
		t.Helper()
		errs := make(chan error, 1)
		go func() { errs <- w.look(context.WithoutCancel(t.Context())) }()
		shown := read()
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(shown, cursorHome) || !strings.Contains(shown, clearLine+"\r") {
			t.Errorf("drawn is %q", shown)
		}
		return shown
	}
	if shown := look(); !strings.Contains(shown, "1 held, 1,023 free") || !strings.Contains(shown, "12         held") || strings.Contains(shown, "\x1b[31m") {
		t.Errorf("the first look shows\n%s", shown)
	}
	setSize(t, tty, 12, 40)
	shown := look()
	if lines := strings.Count(shown, "\n"); lines != 11 || !strings.Contains(shown, "... 196 more") {
		t.Errorf("of 203 worker IDs, 12 lines show\n%s", shown)
	}
	for line := range strings.Lines(strings.TrimPrefix(shown, cursorHome)) {
		if n := len([]rune(strings.TrimSpace(strings.ReplaceAll(line, clearLine, "")))); n > 40 && !strings.Contains(line, clearBelow) {
			t.Errorf("%q does not fit into 40 columns", line)
		}
	}
}

// TestMoveAsked: before the answer, and after a no, the new namespace does not exist.
func TestMoveAsked(t *testing.T) {
	_, newSpace := newSpaces(t)
	old, url := newSpace(), newSpace()
	closeGenerator(t, generator(t, old, core.Config{}))
	for _, tt := range []struct {
		answer string
		code   int
	}{{"no\n", exitFailure}, {"yes\n", exitOK}} {
		code, shown := onTerminal(t, func(screen string) string {
			if !strings.Contains(screen, url+" will be declared new, with layout "+core.DefaultLayout().String()+", to follow "+old+".\r\n") {
				t.Errorf("before the question the screen shows\n%s", screen)
			}
			wantCall(t, call(t, nil, "", "quarantine", "--yes", "--coordinator", url), exitFailure, "", "there is no such namespace")
			return tt.answer
		}, "init", "--coordinator", url, "--after", old)
		if code != tt.code || strings.Contains(shown, "it grants from ") != (code == exitOK) {
			t.Errorf("answer %q: exit code %d, screen\n%s", tt.answer, code, shown)
		}
	}
}
