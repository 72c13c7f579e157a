// Package fulltest says how long the long loops of tests run: a few rounds by
// default, so that the gate ends in time on a slow machine, and in full if the
// environment variable UNALIKE_FULL is set, which make full does.
package fulltest

import "os"

// Rounds returns full if UNALIKE_FULL is set, and short otherwise.
func Rounds(short, full int) int {
	if os.Getenv("UNALIKE_FULL") != "" {
		return full
	}
	return short
}
