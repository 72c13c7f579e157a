package drivers

import "reflect"

// IsNil reports whether v is nil, or the nil pointer that comes with an error.
func IsNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}
