package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/unalike-id/unalike/internal/spelling"
)

// unknown says that a key is none, what is known, and which one was meant most likely.
func unknown(key *yaml.Node) string {
	known := "; known are " + strings.Join(Keys(), ", ")
	if key.Kind != yaml.ScalarNode {
		return "a key that is no word" + known
	}
	text := "unknown key " + quote(key.Value)
	if meant := nearest(key.Value); meant != "" {
		text += "; did you mean " + meant + "?"
		known = " Known are " + strings.Join(Keys(), ", ")
	}
	return text + known
}

// nearest returns the key that s may be a misspelling of, or "".
func nearest(s string) string {
	return spelling.Key(s, Keys(), len(s)/3+1)
}
