package config

import "github.com/unalike-id/unalike/coord"

// settingsError is a mistake in the settings: an [coord.ErrInvalid] whose text begins
// with the place.
type settingsError struct{ err error }

// Error returns the place and the mistake.
func (e *settingsError) Error() string { return e.err.Error() }

// Unwrap returns [coord.ErrInvalid] and the mistake.
func (e *settingsError) Unwrap() []error { return []error{coord.ErrInvalid, e.err} }
