package config

import "github.com/unalike-id/unalike/coord"

// ErrInvalidConfig says that the settings are wrong. It is [coord.ErrInvalid], which drivers have
// in their errors.
var ErrInvalidConfig = coord.ErrInvalid

// settingsError is a mistake in the settings: an [ErrInvalidConfig] whose text begins
// with the place.
type settingsError struct{ err error }

// Error returns the place and the mistake.
func (e *settingsError) Error() string { return e.err.Error() }

// Unwrap returns [ErrInvalidConfig] and the mistake.
func (e *settingsError) Unwrap() []error { return []error{ErrInvalidConfig, e.err} }
