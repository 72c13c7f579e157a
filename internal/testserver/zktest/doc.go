// Package zktest runs ZooKeeper for tests: a single server, or an ensemble whose
// members are processes that can be frozen, killed and started again with the same
// data. It needs Java and ZooKeeper's jars, where Debian's package puts them.
//
// It also ends sessions, as a long silence of their client would, without waiting for
// that long.
package zktest
