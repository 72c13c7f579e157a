package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// errDeclined says that the person at the terminal did not agree.
var errDeclined = errors.New("nothing was changed")

// addYesFlag gives c the flag that agrees beforehand.
func addYesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false,
		"go on without asking; needed where there is no terminal")
}

// checkYes refuses a command that would have to ask where nobody can be asked.
func (a *app) checkYes(yes bool) error {
	if yes || isTerminal(a.in) && isTerminal(a.err) {
		return nil
	}
	return usageError{errors.New("this cannot be undone, and there is no terminal to ask at; add " +
		"--yes if it is what you want")}
}

// confirm shows what will happen, and unless yes is set asks whether it may. Whoever
// calls it has called checkYes before.
func (a *app) confirm(ctx context.Context, yes bool, plan string) error {
	a.complain("%s\n", plan)
	if yes {
		return nil
	}
	a.complain("Type yes to go on: ")
	answer, err := readLine(ctx, a.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if errors.Is(err, io.EOF) {
		a.complain("\n") // nobody has pressed enter
	}
	if strings.TrimSpace(answer) != "yes" { //mutant:asked
		return errDeclined
	}
	return nil
}

// readLine reads a line, or returns when ctx ends. Reading goes on then, which does no
// harm to a program that is about to end.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type reply struct {
		line string
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		replies <- reply{line, err}
	}()
	select {
	case r := <-replies:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
