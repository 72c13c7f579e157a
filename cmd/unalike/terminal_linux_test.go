package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// onTerminal runs a command line with a terminal for all three streams. What the
// person types is what answer returns for what the screen shows up to the question.
func onTerminal(t *testing.T, answer func(screen string) string, args ...string) (code int,
	shown string,
) {
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

// TestAskedOnTerminal: nothing is done before the answer, and nothing unless it is yes.
func TestAskedOnTerminal(t *testing.T) {
	_, newSpace := newSpaces(t)
	url, old, next := newSpace(), newSpace(), newSpace()
	g := generator(t, url, core.Config{Lease: coord.LeaseConfig{Identity: "pod-a"}})
	closeGenerator(t, generator(t, old, core.Config{}))
	held := line{"workers --coordinator " + url, exitOK, "1 held"}
	none := line{"quarantine --yes --coordinator " + next, exitFailure, "there is no such namespace"}
	for _, command := range []struct {
		args, plan, done string
		before           line // how it is while nothing is done
	}{
		{
			"quarantine --for 1h --coordinator " + url, "Worker IDs that are held: 1. Their holders issue",
			"the floor of " + url + " is ", held,
		},
		{
			fmt.Sprintf("retire %d --coordinator %s", workerOf(g), url),
			"It is held by " + holderHere(t) + " (identity pod-a) since ",
			fmt.Sprintf("worker ID %d of %s is retired\n", workerOf(g), url), held,
		},
		{"init --coordinator " + next + " --after " + old, next + " will be declared new, with layout " +
			core.DefaultLayout().String() + ", to follow " + old + ".\r\n", "it grants from ", none},
	} {
		for _, answer := range []string{"no\n", endOfFile, "yes\n"} {
			code, shown := onTerminal(t, func(screen string) string {
				if !strings.Contains(screen, command.plan) {
					t.Errorf("%s: before the question the screen shows\n%s", command.args, screen)
				}
				checkLines(t, nil, []line{command.before})
				return answer
			}, strings.Fields(command.args)...)
			want, says := exitFailure, "unalike: nothing was changed\n"
			if answer == "yes\n" {
				want, says = exitOK, command.done
			}
			if code != want || !strings.Contains(shown, says) {
				t.Errorf("%s, answer %q: exit code %d, screen\n%s", command.args, answer, code, shown)
			}
		}
	}
}
