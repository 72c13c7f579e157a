package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// unknown says that a key is none, what is known, and which one was meant most likely.
func unknown(key *yaml.Node) string {
	known := "; known are " + strings.Join(Keys(), ", ")
	if key.Kind != yaml.ScalarNode {
		return "a key that is no word" + known
	}
	text := "unknown key " + quote(key.Value)
	if near := nearest(key.Value); near != "" {
		text += "; did you mean " + near + "?"
		known = " Known are " + strings.Join(Keys(), ", ")
	}
	return text + known
}

// nearest returns the key that s may be a misspelling of, or "".
func nearest(s string) string {
	if len(s) > 40 {
		return ""
	}
	s = strings.ToLower(strings.ReplaceAll(s, "-", "_"))
	best, found := len(s)/3+1, ""
	for _, key := range Keys() {
		if d := distance(s, key); d <= best && d < len(key) {
			best, found = d-1, key
		}
	}
	return found
}

// distance is how many bytes have to be added, removed or replaced to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
