//go:build !race

package core_test

import "github.com/unalike-id/unalike/internal/testserver/fulltest"

// idsPerMode is how many IDs each mode of the concurrent tests checks.
var idsPerMode = fulltest.Rounds(1_000_000, 10_000_000)
