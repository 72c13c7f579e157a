package driver

import (
	"context"

	"github.com/unalike-id/unalike/coord"
)

// Opener makes a coordinator from a parsed URL. The coordinator owns whatever
// the opener created and frees it in Close.
type Opener func(ctx context.Context, u *URL) (coord.Coordinator, error)

// Register makes a driver known to [coord.Open] by its URL scheme, as [coord.Register] does. A
// driver whose coordinators can be resumed registers what package local makes of its opener, for
// the option state.
func Register(scheme string, open Opener) {
	coord.Register(scheme, func(ctx context.Context, rawURL string,
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
