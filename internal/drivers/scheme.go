package drivers

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
)

// CutScheme returns the scheme of a URL, in small letters, and what follows it. The error does not
// repeat the URL, which may contain a password. What follows file: without slashes is a path of
// this system, relative to the working directory or absolute; it is returned as an absolute one.
func CutScheme(rawURL string) (scheme, rest string, err error) {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if path, is := strings.CutPrefix(rawURL, "file:"); is && !ok {
		rest, err = absolute(path)
		return "file", rest, err
	}
	if !ok || !isScheme(scheme) {
		return "", "",
			errors.New("it has the form scheme://hosts/path?options, for example static://?worker=7")
	}
	return strings.ToLower(scheme), rest, nil
}

// absolute returns the path of a URL, with its options, as an absolute one.
func absolute(path string) (string, error) {
	path, options, _ := strings.Cut(path, "?")
	path, err := url.PathUnescape(path)
	if err != nil || path == "" {
		return "", errors.New("there is no path, or it is not escaped correctly; write " +
			"file:orders.ids, or file:///var/lib/app/ids")
	}
	if path, err = filepath.Abs(filepath.FromSlash(path)); err != nil {
		return "", err
	}
	path = "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	return (&url.URL{Path: path}).EscapedPath() + "?" + options, nil
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
