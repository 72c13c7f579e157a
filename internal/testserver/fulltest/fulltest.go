// Package fulltest says how long the loops of tests are: a few rounds while somebody works, and all of them in
// `make full`, which sets UNALIKE_FULL.
package fulltest

import "os"

// Rounds returns full if the environment variable UNALIKE_FULL is set and not empty, else short.
func Rounds(short, full int) int {
	if os.Getenv("UNALIKE_FULL") != "" {
		return full
	}
	return short
}
