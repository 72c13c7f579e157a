//go:build race

package redis_test

// slowdown is what the race detector costs, and a busy machine: bars in seconds are that much
// higher.
const slowdown = 5
