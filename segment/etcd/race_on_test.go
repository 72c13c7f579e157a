//go:build race

package etcd

// takers is how many take ranges of one tag at once. The race detector makes each request so
// expensive that more of them would measure the machine.
const takers = 12
