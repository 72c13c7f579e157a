package drivers

import (
	"fmt"
	"strconv"
	"time"
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

// SetTwice is the error of a lease time that has two values. It wraps kind.
func SetTwice(kind error, field string, here, there time.Duration) error {
	return fmt.Errorf("%w: %s is %v in the configuration and %v in the coordinator's URL or options; "+
		"set it in one place",
		kind, field, here, there)
}

// LoginOptions are the options of a URL that name files with a user and a password.
var LoginOptions = []string{"user_file", "password_file"}

// JoinPlace makes the Place of a coord.Description from a kind of back end and what selects a
// namespace in it. The order of the parts counts. If one is empty that must not be, leave the text
// out.
func JoinPlace(kind string, parts ...string) string {
	for _, p := range parts {
		kind += " " + strconv.Quote(p)
	}
	return kind
}
