package config

import (
	"errors"
	"net/url"
	"strings"
)

// replaceReferences replaces each ${NAME} in the user information of a URL by the escaped value of
// that variable, so that any password is possible. Its own errors do not repeat the URL.
func replaceReferences(rawURL string, valueOf func(name string) (string, error)) (string, error) {
	if !strings.Contains(rawURL, "${") {
		return rawURL, nil
	}
	scheme, rest, _ := strings.Cut(rawURL, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 || strings.Contains(rest[at:], "${") || strings.ContainsAny(rest[:at], "/?") {
		return "", errors.New("${NAME} is allowed in place of the user and of the password alone, " +
			"before the @; set the whole URL in a variable, as in UNALIKE_COORDINATOR, for more")
	}
	var b strings.Builder
	b.WriteString(scheme + "://")
	user := rest[:at]
	for {
		before, after, found := strings.Cut(user, "${")
		b.WriteString(before)
		if !found {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		if !closed || !isVariable(name) {
			return "", errors.New("a reference to a variable has the form ${NAME}, with letters, " +
				"digits and _")
		}
		value, err := valueOf(name)
		if err != nil {
			return "", err
		}
		// A space is a plus sign in a query and %20 in user information.
		b.WriteString(strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
		user = next
	}
	return b.String() + rest[at:], nil
}

// isVariable tells whether s can name a variable of the environment.
func isVariable(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
