package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/unalike-id/unalike/internal/spelling"
)

// FromEnv returns what the environment says, without a file. Errors are those of
// [Config.WithEnv].
func FromEnv() (Config, error) { return Config{}.WithEnv(os.LookupEnv) }

// WithEnv returns c with what the environment says in place of what c says: for each
// key the variable UNALIKE_KEY, in capitals. A variable that is empty counts as not
// set. One that is misspelt is an error, see [CheckEnv], and others are ignored. Then it replaces
// each ${NAME} in the user information of the coordinator and of the store. lookup is os.LookupEnv
// or something like it.
//
// Errors wrap [coord.ErrInvalid] and name the variable, its value unless that may be a
// password, and what is allowed; all mistakes are reported at once.
func (c Config) WithEnv(lookup func(name string) (value string, ok bool)) (Config, error) {
	out := c
	out.origins = maps.Clone(c.origins)
	errs := misspelt(lookup)
	for _, s := range settings {
		name := envName(s.key)
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

// CheckEnv returns an error if the environment has variables that are nearly those of settings, as
// UNALIKE_WORKERIDS is, and names those that were meant. Others that begin alike are none of its
// business: Kubernetes sets UNALIKE_PORT where there is a Service of that name. Only variables that
// lookup, which is os.LookupEnv or something like it, has as well are looked at. The error wraps
// [coord.ErrInvalid]. Programs that use [Config.WithEnv] need not call it.
func CheckEnv(lookup func(name string) (value string, ok bool)) error {
	return errors.Join(misspelt(lookup)...)
}

// misspelt returns an error for each variable that is misspelt.
func misspelt(lookup func(string) (string, bool)) (errs []error) {
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		upper := strings.ToUpper(name)
		key, ours := strings.CutPrefix(upper, envPrefix)
		if seen, ok := lookup(name); !ours || !ok || seen == "" {
			continue
		}
		key = strings.ToLower(key)
		if read, _ := lookup(upper); slices.Contains(Keys(), key) && read == value {
			continue // the system may make no difference between capitals and small letters
		}
		if meant := spelling.Word(key, Keys(), min(2, len(key)/3)); meant != "" { //mutant:misspelt
			errs = append(errs, invalid("config: %s is set and is no setting; did you mean %s?", name,
				envName(meant)))
		}
	}
	return errs
}

// expand replaces the references to variables in all URLs.
func (c *Config) expand(lookup func(string) (string, bool)) (errs []error) {
	for _, s := range settings {
		if s.url == nil {
			continue
		}
		to := s.url(c)
		url, err := expand(*to, lookup)
		if err != nil {
			errs = append(errs, invalid("config: %s%s: %w", c.at(s.key), s.key, err))
			continue
		}
		*to = url
	}
	return errs
}

// store stores a value and where it comes from. An error names both.
func (c *Config) store(s setting, v, origin string) error {
	if err := s.set(c, v); err != nil {
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

// Set sets a key as a file does. Errors wrap [coord.ErrInvalid] and name key, value and what is
// allowed.
func (c *Config) Set(key, value string) error {
	s, ok := find(key)
	if !ok {
		return invalid("%s", spelling.UnknownKey(key, Keys()))
	}
	if err := s.set(c, value); err != nil {
		return invalid("%s is %s; %w", key, quote(value), err)
	}
	return nil
}

// invalid returns an error that wraps [coord.ErrInvalid] without repeating its text.
func invalid(format string, args ...any) error {
	return &settingsError{fmt.Errorf(format, args...)}
}
