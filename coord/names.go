package coord

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the longest namespace or identity, in bytes.
const MaxName = 128

// CheckNamespace tells whether s can name a namespace: 1 to 128 bytes of
// printable UTF-8 without spaces and without any of / { } : * \, and not "." or
// "..". The error wraps [ErrInvalid].
func CheckNamespace(s string) error {
	if err := checkText("namespace", s, false); err != nil {
		return err
	}
	if i := strings.IndexAny(s, `/{}:*\ `); i >= 0 {
		return fmt.Errorf("%w: namespace %q contains %q; none of / { } : * \\ and no space is allowed", ErrInvalid, s, s[i])
	}
	if s == "." || s == ".." {
		return fmt.Errorf("%w: namespace %q is reserved; choose another name", ErrInvalid, s)
	}
	return nil
}

func checkText(field, s string, empty bool) error {
	switch {
	case s == "" && !empty:
		return fmt.Errorf("%w: %s is empty; 1 to %d bytes are allowed", ErrInvalid, field, MaxName)
	case len(s) > MaxName:
		return fmt.Errorf("%w: %s is %d bytes long; at most %d are allowed", ErrInvalid, field, len(s), MaxName)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: %s %q is not valid UTF-8", ErrInvalid, field, s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: %s %q contains the unprintable character %U", ErrInvalid, field, s, r)
		}
	}
	return nil
}
