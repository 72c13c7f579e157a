package config

import (
	"errors"
	"maps"
	"os"

	"github.com/unalike-id/unalike/internal/settings"
)

// FromEnv returns what the environment says, without a file. Errors are those of
// [Config.WithEnv].
func FromEnv() (Config, error) { return Config{}.WithEnv(os.LookupEnv) }

// WithEnv returns c with what the environment says in place of what c says: for each
// key the variable UNALIKE_KEY, in capitals. A variable that is empty counts as not
// set. One that is misspelt is an error, and others are ignored. Then it replaces
// each ${NAME} in the user information of the coordinator and of the store. lookup is os.LookupEnv
// or something like it.
//
// Errors wrap [coord.ErrInvalid] and name the variable, its value unless that may be a
// password, and what is allowed; all mistakes are reported at once.
func (c Config) WithEnv(lookup func(name string) (value string, ok bool)) (Config, error) {
	out := c
	out.origins = maps.Clone(c.origins)
	errs := []error{settings.CheckEnv(lookup)}
	for _, s := range out.table() {
		name := settings.EnvName(s.key)
		if v, ok := lookup(name); ok && v != "" {
			errs = append(errs, out.store(s, v, name))
		}
	}
	if errors.Join(errs...) == nil {
		errs = out.expand(lookup)
	}
	if err := errors.Join(errs...); err != nil {
		return Config{}, err
	}
	return out, nil
}

// expand replaces the references to variables in all URLs.
func (c *Config) expand(lookup func(string) (string, bool)) (errs []error) {
	for _, s := range c.table() {
		if s.url == nil {
			continue
		}
		url, err := expand(*s.url, lookup)
		if err != nil {
			errs = append(errs, invalid("config: %s%s: %w", c.at(s.key), s.key, err))
			continue
		}
		*s.url = url
	}
	return errs
}

// store stores a value and where it comes from. An error names both.
func (c *Config) store(s setting, v, origin string) error {
	if err := s.set(v); err != nil {
		if s.url != nil {
			return invalid("config: %s: %s: %w", origin, s.key, err)
		}
		return invalid("config: %s: %s is %s: %w", origin, s.key, quote(v), err)
	}
	if c.origins == nil {
		c.origins = map[string]string{}
	}
	c.origins[s.key] = origin
	return nil
}

// invalid returns an error that wraps [coord.ErrInvalid] without repeating its text.
func invalid(format string, args ...any) error { return settings.Invalid(format, args...) }
