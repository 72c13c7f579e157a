// Package invalid makes errors about wrong input.
package invalid

import (
	"fmt"

	"github.com/unalike-id/unalike/coord"
)

// Errorf returns an error that wraps [coord.ErrInvalid]. The format says what is wrong and what is
// allowed.
func Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", coord.ErrInvalid, fmt.Errorf(format, args...))
}
