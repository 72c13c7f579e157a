package drivers

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxName is the longest name, in bytes.
const MaxName = 128

// CheckName returns an error unless s is at most [MaxName] bytes of printable UTF-8. The error
// wraps kind and names field. Empty allows an empty s.
func CheckName(kind error, field, s string, empty bool) error {
	switch {
	case s == "" && !empty:
		return fmt.Errorf("%w: %s is empty; 1 to %d bytes are allowed", kind, field, MaxName)
	case len(s) > MaxName:
		return fmt.Errorf("%w: %s is %d bytes long; at most %d are allowed",
			kind, field, len(s), MaxName)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: %s %q is not valid UTF-8", kind, field, s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: %s %q contains the unprintable character %U", kind, field, s, r)
		}
	}
	return nil
}
