package segment

import (
	"context"
	"log/slog"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
)

// Opener makes a store from a parsed URL. The store owns whatever the opener created and frees it
// in Close.
type Opener func(ctx context.Context, u *driver.URL) (Store, error)

// schemes is the table of drivers, filled by their init functions.
var schemes drivers.Table[Opener]

// Register makes a driver known to [Open] by its URL scheme. Drivers call it from init. If a scheme
// is registered twice, Open refuses that scheme and says so. Register is safe for concurrent use.
func Register(scheme string, o Opener) { schemes.Register(scheme, o) }

// Schemes lists the registered URL schemes in alphabetical order.
func Schemes() []string { return schemes.Schemes() }

// OpenOptions are what a program says beside the URL. The zero value says nothing.
type OpenOptions struct {
	// Logger receives what an operator may want to know of the store. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// Open returns a store for rawURL, which looks at the server and ends with ctx at the latest. The
// driver of the URL's scheme must have been imported. Close the store after the sequences that use
// it. Errors wrap [ErrInvalidConfig] if the URL is wrong, and never contain its password.
func Open(ctx context.Context, rawURL string, o OpenOptions) (Store, error) {
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return nil, invalid("%w", err)
	}
	u.Logger = o.Logger
	open, err := schemes.Find("segment", rawURL, " for a store of segments")
	if err != nil {
		return nil, invalid("URL: %w", err)
	}
	return open(ctx, u)
}
