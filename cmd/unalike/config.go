package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// addConfigFlag gives c the flag --config.
func addConfigFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "config", "", "YAML `FILE` with the settings; UNALIKE_ variables and flags win over it")
	if err := c.MarkFlagFilename("config", "yaml", "yml"); err != nil {
		c.PrintErrln("unalike: completion of --config:", err)
	}
}

// settings returns what the file says, the environment over it, and the flags over
// both. Without a file it is the flags alone, and the environment names no more than
// the coordinator, as for the other commands.
func (a *app) settings(c *cobra.Command, o *generateOptions) (config.Config, error) {
	var cfg config.Config
	if c.Flags().Changed("config") {
		var err error
		if cfg, err = config.ReadFile(o.config); err != nil {
			return cfg, usageError{fmt.Errorf("--config: %w", err)}
		}
		lookup := a.lookupEnv
		if o.coordinator != "" {
			cfg.Coordinator = "" // the flag's is used: nothing of these is to be looked up
			lookup = without(lookup, envCoordinator)
		}
		if cfg, err = cfg.WithEnv(lookup); err != nil {
			return cfg, usageError{fmt.Errorf("--config: %w", err)}
		}
	}
	if cfg.Layout == (core.Layout{}) || c.Flags().Changed("layout") {
		cfg.Layout = o.layout.Layout
	}
	return cfg, nil
}

// without is lookup with one variable hidden.
func without(lookup func(string) (string, bool), hidden string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == hidden {
			return "", false
		}
		return lookup(name)
	}
}

// openConfigured opens the coordinator of the flag, else of the settings, else the
// default.
func (a *app) openConfigured(ctx context.Context, o *generateOptions, cfg config.Config) (coord.Coordinator, error) {
	if o.coordinator != "" || cfg.Coordinator == "" {
		return a.openCoordinator(ctx, o.coordinator, cfg.Layout)
	}
	from := envCoordinator
	if v, _ := a.lookupEnv(envCoordinator); v == "" {
		from = o.config + ": coordinator"
	}
	return openURL(ctx, from, cfg.Coordinator)
}

// explainSettings makes a mistake in a file a mistake of usage.
func explainSettings(o *generateOptions, err error) error {
	if o.config != "" && (errors.Is(err, core.ErrInvalidConfig) || errors.Is(err, coord.ErrInvalid)) {
		return usageError{fmt.Errorf("--config: %s: %w", o.config, err)}
	}
	return err
}
