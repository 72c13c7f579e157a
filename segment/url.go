package segment

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// InvalidURL returns the error of a driver about a URL as one that wraps [ErrInvalidConfig].
func InvalidURL(u *driver.URL, err error) error {
	if !errors.Is(err, coord.ErrInvalid) {
		err = fmt.Errorf("%s URL: %w", u.Scheme, err)
	}
	return invalid("%w", err)
}

// ParseSafety reads the options durable and failover, which the URLs of all stores have. Durable
// reports whether the store must refuse a server that can lose confirmed writes. Skip is the number
// that the store adds to every tag when the server has changed; 0: it refuses that server.
func ParseSafety(u *driver.URL) (durable bool, skip int64, err error) {
	switch v := u.Option("durable"); {
	case v == "require":
		durable = true
	case v != "warn" && u.Has("durable"):
		return false, 0, fmt.Errorf("option durable is %q; it is require or warn", v)
	}
	if u.Has("failover") {
		v := u.Option("failover")
		n, ok := strings.CutPrefix(v, "skip:")
		if skip, err = strconv.ParseInt(n, 10, 64); v != "stop" &&
			(!ok || err != nil || skip < 1 || skip > MaxStep) {
			return false, 0, fmt.Errorf("option failover is %q; it is stop, or skip:N with N from 1 to %d, "+
				"for example skip:1000000", v, int64(MaxStep))
		}
	}
	return durable, skip, nil
}
