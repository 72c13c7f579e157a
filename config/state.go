package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/local"
)

// Resolve returns c with the URL of its coordinator, and the option state in it for State, which is
// what [Config.Open] opens. It is for programs that open the coordinator themselves, or have its
// URL from elsewhere; from says in errors where. It looks at the folder of a state file, also of one
// that the URL names, and writes nothing. The URL of the result may contain a password.
//
// With a state file, the lease times are in the URL as well: a generator renews in the file, and
// what is behind the file asks the back end at the times that the URL says. Lease.RenewEvery of the
// result is 0 then.
//
// Errors wrap [coord.ErrInvalid]: the URL is wrong, or has another state file, or is that of a
// coordinator that leases no worker IDs, or no state file can be kept at the path. They say where
// the file is named, and contain no password.
func (c Config) Resolve(rawURL, from string) (Config, error) {
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return c, fmt.Errorf("config: %s: %w", from, err)
	}
	c.Coordinator = rawURL
	there := u.Option(keyState)
	switch {
	case u.Scheme == "static" && c.State == "" || c.State == "" && there == "":
		return c, nil // a static coordinator has its own kind of state file
	case u.Scheme == "static":
		return c, c.badState(errors.New("a static coordinator leases no worker ID that such a file could keep; it has a state file of another kind, which is named in its URL: static://?worker=7&state=FILE"))
	case c.State != "" && u.Has(keyState) && there != c.State:
		return c, c.badState(fmt.Errorf("the URL of %s has state=%s; name the file in one place, or the same in both", from, quote(there)))
	case c.State != "":
		if err := local.CheckFile(c.State); err != nil {
			return c, c.badState(err)
		}
		c.addOption(u, keyState, c.State)
	default:
		if err := local.CheckFile(there); err != nil {
			return c, invalid("config: %s: option state: %w", from, err)
		}
	}
	return c.addLease(u, from)
}

// addLease puts the lease times in the URL u.
func (c Config) addLease(u *driver.URL, from string) (Config, error) {
	set, err := u.Lease()
	if err != nil {
		return c, fmt.Errorf("config: %s: %w", from, err)
	}
	if mine := c.Lease.RenewEvery; mine != 0 && set.RenewEvery != 0 && mine != set.RenewEvery {
		return c, invalid("config: %srenew is %v, and the URL of %s has renew=%v; set it in one place", c.at("renew"), mine, from, set.RenewEvery)
	}
	c.addTime(u, "ttl", c.Lease.TTL)
	c.addTime(u, "horizon", c.Lease.Horizon)
	c.addTime(u, "renew", c.Lease.RenewEvery)
	c.Lease.RenewEvery = 0
	return c, nil
}

// addTime adds an option to the coordinator's URL, unless it is there or the time is 0.
func (c *Config) addTime(u *driver.URL, name string, d time.Duration) {
	if d != 0 {
		c.addOption(u, name, d.String())
	}
}

// addOption adds an option to the coordinator's URL, which u was, unless it is there.
func (c *Config) addOption(u *driver.URL, name, value string) {
	if u.Has(name) {
		return
	}
	separator := "?"
	if strings.Contains(c.Coordinator, "?") {
		separator = "&"
	}
	c.Coordinator += separator + name + "=" + url.QueryEscape(value)
}

// badState is an error about the value of State.
func (c Config) badState(err error) error {
	return invalid("config: %sstate is %s: %w", c.at(keyState), quote(c.State), err)
}

// checkState checks what can be seen of a path without a look at the disk.
func checkState(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("it is the absolute path of a file, for example /var/lib/orders/unalike.state; a relative one leads to another file wherever the program is started")
	}
	return nil
}
