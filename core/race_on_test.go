//go:build race

package core_test

// idsPerMode is how many IDs each mode of the concurrent tests checks. The race
// detector slows them down by an order of magnitude.
const idsPerMode = 200_000
