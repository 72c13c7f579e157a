package segment

import (
	"context"
	"errors"
	"log/slog"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
)

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
	open, err := drivers.FindStore(rawURL)
	if err != nil {
		return nil, invalid("URL: %w", err)
	}
	opened, err := open(ctx, rawURL, o.Logger)
	if errors.Is(err, coord.ErrInvalid) && !errors.Is(err, ErrInvalidConfig) {
		return nil, invalid("%w", err)
	}
	if err != nil {
		return nil, err
	}
	s, ok := opened.(Store)
	if !ok {
		return nil, errors.Join(invalid("URL: its driver made a %T, which is no Store", opened),
			opened.Close())
	}
	return s, nil
}
