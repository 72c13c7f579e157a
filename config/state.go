package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/local"
)

// OpenOptions returns what [Config.Open] passes to [coord.Open] with the URL of the coordinator. It
// is for programs that open the coordinator themselves, or have its URL from elsewhere; from says
// in errors where. It looks at the folder of a state file, also of one that the URL names, and
// writes nothing.
//
// With a state file, the lease times are in the result as well: a generator renews in the file, and
// what is behind the file asks the back end at these times.
//
// Errors wrap [coord.ErrInvalid]: the URL is wrong, or has another state file, or is that of a
// coordinator that leases no worker IDs, or no state file can be kept at the path. They say where
// the file is named, and contain no password.
func (c Config) OpenOptions(rawURL, from string) (coord.OpenOptions, error) {
	o := coord.OpenOptions{Clock: c.Clock, Logger: c.Logger}
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return o, fmt.Errorf("config: %s: %w", from, err)
	}
	there := u.Option(keyState)
	switch {
	case u.Scheme == "static" && c.State == "" || c.State == "" && there == "":
		return o, nil // a static coordinator has its own kind of state file
	case u.Scheme == "static":
		return o, c.badState(errors.New("a static coordinator leases no worker ID that such a file " +
			"could keep; it has a state file of another kind, which is named in its URL: " +
			"static://?worker=7&state=FILE"))
	case c.State != "" && u.Has(keyState) && there != c.State:
		return o,
			c.badState(fmt.Errorf("the URL of %s has state=%s; name the file in one place, or the "+
				"same in both", from, quote(there)))
	}
	o.State = cmp.Or(c.State, there)
	o.Lease = coord.LeaseConfig{
		TTL: c.Lease.TTL, Horizon: c.Lease.Horizon,
		RenewEvery: c.Lease.RenewEvery,
	}
	if err := local.CheckFile(o.State); err != nil && c.State != "" {
		return o, c.badState(err)
	} else if err != nil {
		return o, invalid("config: %s: option state: %w", from, err)
	}
	return o, nil
}

// badState is an error about the value of State.
func (c Config) badState(err error) error {
	return invalid("config: %sstate is %s: %w", c.at(keyState), quote(c.State), err)
}

// checkState checks what can be seen of a path without a look at the disk.
func checkState(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("it is the absolute path of a file, for example " +
			"/var/lib/orders/unalike.state; a relative one leads to another file wherever the " +
			"program is started")
	}
	return nil
}
