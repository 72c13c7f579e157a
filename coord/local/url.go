package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// Opener wraps the opener of a driver: where a URL has the option state, which names the file,
// what was opened is kept in that file. Drivers register themselves through it.
func Opener(open driver.Opener) driver.Opener {
	return func(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
		file, given := u.Option("state"), u.Has("state")
		if given && file == "" {
			return nil, fmt.Errorf("%w %s URL: option state is empty; name a file, or leave the option out", coord.ErrInvalid, u.Scheme)
		}
		c, err := open(ctx, u.Without("state"))
		if err != nil || !given {
			return c, err
		}
		l, err := New(c, file, &Options{Logger: u.Logger})
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return l, nil
	}
}
