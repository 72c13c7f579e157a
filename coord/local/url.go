package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/statefile"
)

// Opener wraps the opener of a driver: where a URL has the option state, which names the file, or
// [coord.OpenOptions] do, what was opened is kept in that file. Drivers register themselves through
// it.
func Opener(open driver.Opener[coord.Coordinator]) driver.Opener[coord.Coordinator] {
	return func(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
		file, given := u.Option("state"), u.Has("state")
		switch {
		case given && file == "":
			return nil, fmt.Errorf("%w %s URL: option state is empty; name a file, or leave the option out",
				coord.ErrInvalid, u.Scheme)
		case given && u.State != "" && u.State != file:
			return nil, fmt.Errorf("%w %s URL: option state is %q, and State is %q; name the file in one "+
				"place, or the same in both",
				coord.ErrInvalid, u.Scheme, file, u.State)
		}
		file = cmp.Or(file, u.State)
		remote := u.Without("state")
		remote.State = ""
		c, err := open(ctx, remote)
		if err != nil || file == "" {
			return c, err
		}
		l, err := New(c, file, Options{Logger: u.Logger})
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return l, nil
	}
}

// CheckFile returns an error if no state file can be kept at a path, as far as that can be seen
// without locking it or writing to it: for a configuration that is to be refused at once, and not
// when a worker ID is acquired. What may pass, such as a full disk or a file in use, is no error.
// It asks the file system, and blocks while that does not answer. Errors wrap coord.ErrInvalid
// and name the path, what is wrong with it, and what to do.
func CheckFile(path string) error { return statefile.Check(path) }
