//go:build !race

package redis_test

// slowdown is what a busy machine costs: bars in seconds are that much higher.
const slowdown = 2
