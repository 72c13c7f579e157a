//go:build !race

package zk_test

// slowdown is 1 without the race detector.
const slowdown = 1
