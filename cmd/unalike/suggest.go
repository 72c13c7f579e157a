package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/unalike-id/unalike/internal/spelling"
)

// knownCommand refuses what is no command, and names the one that was meant.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if meant := spelling.Word(strings.ToLower(args[0]), names, spelling.Mistyped); meant != "" {
		return fmt.Errorf("unknown command %q; did you mean %s %s?", args[0], c.CommandPath(), meant)
	}
	return fmt.Errorf("unknown command %q; known are %s", args[0], strings.Join(names, ", "))
}

// suggestFlag adds to an error about an unknown flag the one that was meant.
func suggestFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := spelling.Word(unknown.GetSpecifiedName(), names, spelling.Mistyped); meant != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, meant)
	}
	return err
}

// suggestScheme adds to an error about an unknown scheme the one that was meant.
func suggestScheme(rawURL string, known []string, err error) error {
	scheme, _, _ := strings.Cut(strings.ToLower(rawURL), "://")
	if slices.Contains(known, scheme) {
		return err
	}
	if meant := spelling.Word(scheme, known, spelling.Mistyped); meant != "" {
		return fmt.Errorf("%w; did you mean %s://?", err, meant)
	}
	return err
}
