//go:build !race

package etcd_test

// slowdown is 1 without the race detector.
const slowdown = 1
