package driver

import (
	"context"
	"io"
	"log/slog"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
)

// Opener makes a coordinator or a store of segments from a parsed URL. It checks the URL first, and
// contacts no server and makes no file if ctx has ended, see [Check]. The result owns whatever the
// opener created and frees it in Close.
type Opener[T any] func(ctx context.Context, u *URL) (T, error)

// Register makes a driver known to [coord.Open] by its URL scheme, in small letters. Drivers call
// it from init. If a scheme is registered twice, Open refuses that scheme and says so. Register
// is safe for concurrent use.
func Register(scheme string, open Opener[coord.Coordinator]) {
	drivers.Coordinators.Register(scheme, func(ctx context.Context, rawURL string,
		o coord.OpenOptions,
	) (coord.Coordinator, error) {
		u, err := ParseURL(rawURL)
		if err != nil {
			return nil, err
		}
		u.OpenOptions = o
		return open(ctx, u)
	})
}

// RegisterStore is [Register] for a store of package segment, whose Open opens it: S is
// segment.Store.
func RegisterStore[S io.Closer](scheme string, open Opener[S]) {
	drivers.Stores.Register(scheme, func(ctx context.Context, rawURL string, log *slog.Logger,
	) (io.Closer, error) {
		u, err := ParseURL(rawURL)
		if err != nil {
			return nil, err
		}
		u.Logger = log
		s, err := open(ctx, u)
		if err != nil {
			return nil, err // not a nil store in an interface that is not nil
		}
		return s, nil
	})
}
