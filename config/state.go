package config

import (
	"errors"
	"path/filepath"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/statefile"
)

// WithStateFile returns the URL of a coordinator without its option state, and c with the state
// file that the option names in StateFile. [Config.Open] and [Config.Start] call it. It is for
// programs that open the coordinator themselves, or have its URL from elsewhere; from says in
// errors where. It asks the file system for the directory of the file, and writes nothing.
//
// Errors wrap [coord.ErrInvalid]: the URL is wrong, or has another state file, or is that of a
// coordinator that leases no worker IDs, or no state file can be at the path. They say where the
// file is named, and contain no password.
func (c Config) WithStateFile(rawURL, from string) (rest string, with Config, err error) {
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return rawURL, c, invalid("config: %s: %w", from, err)
	}
	rest, file, err := driver.CutStateFile(rawURL)
	switch {
	case err != nil:
		return rawURL, c, invalid("config: %s: %w", from, err)
	case c.StateFile != "" && u.Scheme == "static":
		return rawURL, c, c.badStateFile(errors.New("a static coordinator leases no worker ID that " +
			"such a file could keep; it has a state file of another kind, which is named in its URL: " +
			"static://?worker=7&state=FILE"))
	case c.StateFile == "" && file == "":
		return rawURL, c, nil
	case c.StateFile != "" && file != "" && file != c.StateFile:
		return rawURL, c, c.badStateFile(errors.New("the URL of " + from + " has state=" + quote(file) +
			"; name the file in one place, or the same in both"))
	case c.StateFile != "":
		if err := statefile.Check(c.StateFile); err != nil {
			return rawURL, c, c.badStateFile(err)
		}
		return rest, c, nil
	}
	if err := statefile.Check(file); err != nil {
		return rawURL, c, invalid("config: %s: option state: %w", from, err)
	}
	c.StateFile = file
	return rest, c, nil
}

// badStateFile is an error about the value of StateFile.
func (c Config) badStateFile(err error) error {
	return invalid("config: %sstate is %s: %w", c.at(keyState), quote(c.StateFile), err)
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
