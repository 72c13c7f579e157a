package main

import (
	"slices"
	"strings"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord/driver"
)

// withState returns p and the settings with the state file of the settings, with which a generator
// goes on while the coordinator is away.
func (p place) withState(cfg config.Config) (place, config.Config, error) {
	if _, err := driver.ParseURL(p.rawURL); err != nil {
		return p, cfg, nil //nolint:nilerr // opening it says what is wrong
	}
	cfg, err := cfg.Resolve(p.rawURL, p.from)
	p.rawURL = cfg.Coordinator
	return p, cfg, err
}

// withoutState returns p without a state file, which is for generators alone: what an operator
// asks about is in the coordinator, and the file may be on another machine.
func (p place) withoutState() place {
	before, query, ok := strings.Cut(p.rawURL, "?")
	if u, err := driver.ParseURL(p.rawURL); err != nil || !ok || u.Scheme == "static" {
		return p
	}
	options := slices.DeleteFunc(strings.Split(query, "&"), func(o string) bool { return o == "state" || strings.HasPrefix(o, "state=") })
	if p.rawURL = before; len(options) > 0 {
		p.rawURL += "?" + strings.Join(options, "&")
	}
	return p
}
