package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/settings"
	"github.com/unalike-id/unalike/internal/spelling"
)

// addConfigFlag gives c the flag --config.
func addConfigFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "config", "",
		"YAML `FILE` with the settings; UNALIKE_ variables and flags win over it")
	if err := c.MarkFlagFilename("config", "yaml", "yml"); err != nil {
		c.PrintErrln("unalike: completion of --config:", err)
	}
}

// generatorFlag names one of the generators of a file of serve.
const generatorFlag = "generator"

// addGeneratorFlag gives c the flag --generator.
func addGeneratorFlag(c *cobra.Command) {
	c.Flags().String(generatorFlag, "",
		"`NAME` of the generator, where the file is one of serve with several")
}

// settings returns what the file says, the environment over it, and the flags over both. The
// coordinator is not looked up if the flag names one.
func (a *app) settings(c *cobra.Command, o *namespaceOptions) (config.Config, error) {
	cfg, err := a.readSettings(c, o.config,
		wanted{coordinator: o.coordinator == "", generator: true})
	if cfg.Layout == (core.Layout{}) || c.Flags().Changed("layout") {
		cfg.Layout = o.layout.v
	}
	return cfg, err
}

// envLayout returns the layout that the environment names, for commands without other settings.
func (a *app) envLayout() (core.Layout, error) {
	text, _ := a.lookupEnv(settings.EnvName("layout"))
	if text == "" {
		return core.DefaultLayout(), nil
	}
	l, err := core.ParseLayout(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", settings.EnvName("layout"), err)
	}
	return l, err
}

// wanted says what of the settings is looked up.
type wanted struct {
	coordinator, store bool // their URLs
	generator          bool // one generator, of several in a file of serve
}

// readSettings returns what a file says, if there is one, and the environment over it. Of the
// coordinator and the store, nothing is looked up if it is not wanted.
func (a *app) readSettings(c *cobra.Command, file string,
	want wanted,
) (cfg config.Config, err error) {
	if file != "" {
		set, err := readServeFile(file)
		switch {
		case err != nil:
			return cfg, fmt.Errorf("--config: %s: %w", file, err)
		case set != nil && want.generator && len(set.Generators) > 0:
			return a.generatorOf(c, file, set)
		case set != nil:
			cfg, err = set.single()
		default:
			cfg, err = config.Config{}.WithFile(file)
		}
		if err != nil {
			return cfg, fmt.Errorf("--config: %w", err)
		}
	}
	if want.generator && c.Flags().Changed(generatorFlag) {
		return cfg, usageError{fmt.Errorf("--%s is for a file of --config with several generators; "+
			"leave it out", generatorFlag)}
	}
	lookup := a.lookupEnv
	if !want.coordinator {
		cfg.Coordinator, lookup = "", without(lookup, envCoordinator)
	}
	if !want.store {
		cfg.Store, lookup = "", without(lookup, envStore)
	}
	return cfg.WithEnv(lookup)
}

// generatorOf returns the settings of the generator that the flag names, of several in a file of
// serve.
func (a *app) generatorOf(c *cobra.Command, file string,
	set *serveSettings,
) (config.Config, error) {
	if err := a.expandURLs(set); err != nil {
		return config.Config{}, fmt.Errorf("--config: %s: %w", file, err)
	}
	names := slices.Sorted(maps.Keys(set.generators))
	f := c.Flags().Lookup(generatorFlag)
	name := f.Value.String()
	if !f.Changed && len(names) == 1 {
		name = names[0]
	}
	cfg, ok := set.generators[name]
	switch {
	case !f.Changed && !ok:
		return cfg, usageError{fmt.Errorf("%s has several generators; name one with --%s: %s", file,
			generatorFlag, strings.Join(names, ", "))}
	case !ok:
		return cfg, usageError{fmt.Errorf("--%s is %q; %s has %s%s", generatorFlag, name, file,
			strings.Join(names, ", "), spelling.DidYouMean(name, names))}
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

// explainSettings says in which file settings are that do not fit together.
func explainSettings(o *namespaceOptions, err error) error {
	if o.config != "" && errors.Is(err, core.ErrInvalidConfig) {
		return fmt.Errorf("--config: %s: %w", o.config, err)
	}
	return err
}
