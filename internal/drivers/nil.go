package drivers

import "reflect"

// IsNil reports whether v is nil, or the nil pointer that comes with an error.
func IsNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}

// Sentinel returns an error with a text of its own that wraps another one.
func Sentinel(text string, of error) error { return &sentinel{text, of} }

// sentinel is the error that [Sentinel] returns.
type sentinel struct {
	text string
	of   error
}

// Error returns the text.
func (e *sentinel) Error() string { return e.text }

// Unwrap returns the error that is wrapped.
func (e *sentinel) Unwrap() error { return e.of }
