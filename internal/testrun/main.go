package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// silence is after how long the report says what is running.
const silence = 20 * time.Second

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Getenv("UNALIKE_STEPS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
	os.Exit(code)
}

// run runs go test and reports to out. It returns the exit code. Steps is the file in which
// scripts/summary collects the results of all steps, flaky tests among them; empty: there is none.
func run(args []string, out io.Writer, steps string) (int, error) {
	flags := flag.NewFlagSet("testrun", flag.ContinueOnError)
	rule := flags.String("rule", "", "warn of what is slow and not in this `file`")
	folder := flags.String("C", ".", "run go test in this `folder`")
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	reasons, err := readReasons(*rule)
	if err != nil {
		return 2, err
	}
	// Whoever interrupts still wants to know what has ended.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	test := func(args []string, r *results) error { return goTest(ctx, *folder, args, r, out) }
	r := newResults()
	err = test(flags.Args(), r)
	r.summary(out, reasons)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		// Any other code is that of a run which did not end.
		if exit.ExitCode() == 1 && ctx.Err() == nil && r.forgivable() {
			return r.retry(flags.Args(), test, out, steps)
		}
		return max(1, exit.ExitCode()), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// goTest runs go test in a folder, and reports to out as it goes on. The error is that of the
// command.
func goTest(ctx context.Context, folder string, args []string, r *results, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	// go test ends its tests then
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), serversEnv+"="+servers())
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	follow(r, lines(pipe), ticks.C, time.Now(), out)
	return cmd.Wait()
}

// lines sends the lines of in, and closes the channel at its end.
func lines(in io.Reader) <-chan []byte {
	c := make(chan []byte)
	go func() {
		defer close(c)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				c <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// follow prints what the lines say until they end, and what is running whenever nothing was printed
// for a while. The times of ticks, and began, are of one clock.
func follow(r *results, lines <-chan []byte, ticks <-chan time.Time, began time.Time,
	out io.Writer,
) {
	last := began
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return
			}
			var e event
			text := string(line) // what is no event is printed as it stands
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				text = r.take(e)
			}
			if text != "" {
				_, _ = fmt.Fprint(out, text)
				last = time.Now()
			}
		case now := <-ticks:
			if now.Sub(last) >= silence {
				_, _ = fmt.Fprint(out, r.waits(now, now.Sub(began)))
				last = now
			}
		}
	}
}
