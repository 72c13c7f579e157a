package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/unalike-id/unalike/coord/driver"
)

// checkURL returns an error unless v has the form of a URL. Whether its scheme has a
// driver, and what the driver makes of the options, is seen when it is opened.
func checkURL(v string) error {
	if _, err := driver.ParseURL(v); err != nil {
		return err
	}
	// Where references stand is a matter of the text; their values are looked up later.
	_, err := expand(v, func(string) (string, bool) { return "checked", true })
	return err
}

// showURL returns a URL without its password.
func showURL(rawURL string) string {
	if rawURL == "" {
		return ""
	}
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return "not shown, as it is not valid"
	}
	return u.String()
}

// expand replaces each ${NAME} in the user information of a URL by the escaped value
// of a variable, so that any password is possible. A nil lookup knows no variable. The
// errors show no value.
func expand(rawURL string, lookup func(string) (string, bool)) (string, error) {
	if !strings.Contains(rawURL, "${") {
		return rawURL, nil
	}
	scheme, rest, _ := strings.Cut(rawURL, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 || strings.Contains(rest[at:], "${") || strings.ContainsAny(rest[:at], "/?") {
		return "", errors.New("${NAME} is allowed in place of the user and of the password alone, before the @; set the whole URL in a variable, as in " + envName(keyCoordinator) + ", for more")
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
			return "", errors.New("a reference to a variable has the form ${NAME}, with letters, digits and _")
		}
		if lookup == nil {
			return "", fmt.Errorf("${%s} was not replaced; load the file with Load, or call WithEnv", name)
		}
		value, ok := lookup(name)
		if !ok || value == "" {
			return "", fmt.Errorf("${%s} refers to a variable that is not set or empty", name)
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
