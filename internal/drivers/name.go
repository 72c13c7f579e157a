package drivers

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxName is the longest name, in bytes.
const MaxName = 128

// CheckName returns an error unless s is at most [MaxName] bytes of printable UTF-8. The error begins with
// field. Empty allows an empty s.
func CheckName(field, s string, empty bool) error {
	switch {
	case s == "" && !empty:
		return fmt.Errorf("%s is empty; 1 to %d bytes are allowed", field, MaxName)
	case len(s) > MaxName:
		return fmt.Errorf("%s is %d bytes long; at most %d are allowed", field, len(s), MaxName)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s %q is not valid UTF-8", field, s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s %q contains the unprintable character %U", field, s, r)
		}
	}
	return nil
}
