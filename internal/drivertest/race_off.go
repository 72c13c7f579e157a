//go:build !race

package drivertest

// startAtOnce is how many of many starters start at once.
const startAtOnce = Capacity
