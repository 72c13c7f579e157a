package main

import (
	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord/driver"
)

// withState returns p with the state file of the settings, with which a generator goes on while the
// coordinator is away, and their lease times.
func (p place) withState(cfg config.Config) (place, error) {
	if _, err := driver.ParseURL(p.rawURL); err != nil {
		return p, nil //nolint:nilerr // opening it says what is wrong
	}
	var err error
	p.options, err = cfg.OpenOptions(p.rawURL, p.from)
	return p, err
}

// withoutState returns p without a state file, which is for generators alone: what an operator
// asks about is in the coordinator, and the file may be on another machine.
func (p place) withoutState() place {
	if u, err := driver.ParseURL(p.rawURL); err == nil && u.Scheme != "static" && u.Has("state") {
		p.rawURL = u.Without("state").Text()
	}
	return p
}
