package coord

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/internal/drivers"
)

// OpenOptions are what a program says beside the URL. The zero value says nothing.
type OpenOptions struct {
	// Clock tells the time that is compared with that of the back end, or of others. Nil: the
	// system's. Give the same clock to the generator.
	Clock clock.Clock
	// Logger receives what an operator may want to know of the back end: that it has lost
	// writes, that it may evict leases, that a record cannot be read. Never per call, and
	// never a password. Nil: warnings go to slog.Default(). Its handler may call the
	// coordinator, and may block, as that of core.Config.
	Logger *slog.Logger
}

// Open returns a coordinator for rawURL. The driver of its scheme must have been
// imported, for its side effect alone:
//
//	import _ "github.com/unalike-id/unalike/coord/static"
//
// Close the coordinator after the generators that use it. Errors wrap
// [ErrInvalid] if the URL or an option is wrong, and never contain its password. ctx bounds
// the call; some drivers contact their back end here and some only later.
func Open(ctx context.Context, rawURL string, o OpenOptions) (Coordinator, error) {
	open, err := drivers.Find[func(context.Context, string, OpenOptions) (Coordinator, error)](
		drivers.Coordinators, rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w URL: %w", ErrInvalid, err)
	}
	return open(ctx, rawURL, o)
}
