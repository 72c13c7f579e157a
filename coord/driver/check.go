package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/statefile"
)

// Check returns an error if the URL of a coordinator is wrong, or a generator cannot have the lease
// times with it. The driver of the URL's scheme must have been imported. Check reads the files that
// the URL names, makes none, and contacts no server. Errors wrap [coord.ErrInvalid].
func Check(rawURL string, lease coord.LeaseConfig) error {
	rest, file, err := CutStateFile(rawURL)
	if err != nil {
		return err
	}
	c, err := coord.Open(ended(), rest, coord.OpenOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return unlessEnded(err)
	}
	d := coord.Describe(c)
	d.Rules.Surviving = file != "" && statefile.Survives(d.Place)
	_, err = d.Rules.Resolve(lease)
	return errors.Join(err, c.Close())
}

// CheckStore is [Check] for the URL of a store of package segment. Errors wrap [coord.ErrInvalid]
// or segment.ErrInvalidConfig.
func CheckStore(rawURL string) error {
	open, err := drivers.FindStore(rawURL)
	if err != nil {
		return fmt.Errorf("%w URL: %w", coord.ErrInvalid, err)
	}
	s, err := open(ended(), rawURL, slog.New(slog.DiscardHandler))
	if err != nil {
		return unlessEnded(err)
	}
	return s.Close()
}

// ended returns a context with which an opener only checks.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// unlessEnded returns an error about a URL, and nil for one of the ended context.
func unlessEnded(err error) error {
	if errors.Is(err, context.Canceled) && !errors.Is(err, coord.ErrInvalid) {
		return nil
	}
	return err
}
