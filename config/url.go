package config

import (
	"fmt"

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
// of a variable. A nil lookup knows no variable. The errors show no value.
func expand(rawURL string, lookup func(string) (string, bool)) (string, error) {
	return replaceReferences(rawURL, func(name string) (string, error) {
		if lookup == nil {
			return "", fmt.Errorf("${%s} was not replaced; load the file with Load, or call WithEnv", name)
		}
		value, ok := lookup(name)
		if !ok || value == "" {
			return "", fmt.Errorf("${%s} refers to a variable that is not set or empty", name)
		}
		return value, nil
	})
}
