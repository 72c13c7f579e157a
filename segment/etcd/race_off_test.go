//go:build !race

package etcd

// takers is how many take ranges of one tag at once.
const takers = 64
