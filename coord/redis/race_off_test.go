//go:build !race

package redis_test

const slowdown = 1
