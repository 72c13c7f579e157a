package drivers

import (
	"errors"
	"strings"
)

// CutScheme returns the scheme of a URL, in small letters, and what follows it. The error does not
// repeat the URL, which may contain a password.
func CutScheme(rawURL string) (scheme, rest string, err error) {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok || !isScheme(scheme) {
		return "", "",
			errors.New("it has the form scheme://hosts/path?options, for example static://?worker=7")
	}
	return strings.ToLower(scheme), rest, nil
}

// isScheme tells whether s is one: what is not may be a password, and is not
// printed.
func isScheme(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || (r < '0' || r > '9') && r != '+' && r != '-' && r != '.') {
			return false
		}
	}
	return s != ""
}
