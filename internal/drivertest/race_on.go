//go:build race

package drivertest

// startAtOnce is how many of many starters start at once: the race detector makes servers that run
// in the process of the test several times slower.
const startAtOnce = Capacity / 8
