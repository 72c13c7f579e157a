package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/internal/near"
)

// mistypedBy is by how many letters a word may differ from the one that was meant.
const mistypedBy = 2

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
	if meant := near.Word(strings.ToLower(args[0]), names, mistypedBy); meant != "" {
		return fmt.Errorf("unknown command %q; did you mean %s %s?", args[0], c.CommandPath(), meant)
	}
	return fmt.Errorf("unknown command %q; known are %s", args[0], strings.Join(names, ", "))
}

// suggestScheme adds to an error about an unknown scheme the one that was meant.
func suggestScheme(rawURL string, known []string, err error) error {
	scheme, _, _ := strings.Cut(strings.ToLower(rawURL), "://")
	if slices.Contains(known, scheme) {
		return err
	}
	if meant := near.Word(scheme, known, mistypedBy); meant != "" {
		return fmt.Errorf("%w; did you mean %s://?", err, meant)
	}
	return err
}

// warnOfMistyped names the variables of the environment that are none, and look as if
// one was meant. Others that begin alike are left alone: Kubernetes sets such.
func (a *app) warnOfMistyped() {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		key, ours := strings.CutPrefix(strings.ToUpper(name), envPrefix)
		if !ours {
			continue
		}
		key = strings.ToLower(key)
		if slices.Contains(config.Keys(), key) && name == strings.ToUpper(name) {
			continue
		}
		if meant := near.Word(key, config.Keys(), mistypedBy); meant != "" {
			a.complain("unalike: %s is set and is no setting; did you mean %s%s?\n", name, envPrefix, strings.ToUpper(meant))
		}
	}
}
