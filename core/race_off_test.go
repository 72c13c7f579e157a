//go:build !race

package core_test

// idsPerMode is how many IDs each mode of the concurrent tests checks.
const idsPerMode = 10_000_000
