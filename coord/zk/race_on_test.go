//go:build race

package zk_test

// slowdown is what the race detector costs, in the tests and in a server that runs
// inside them: bars in seconds are that much higher.
const slowdown = 4
