//go:build race

package redis_test

// slowdown is what the race detector costs: bars in seconds are that much higher.
const slowdown = 4
