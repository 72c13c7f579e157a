// Package etcdtest runs real etcd servers for tests, as processes that can be stopped and killed.
// They listen on loopback, keep their data in folders of the test, are silent, and
// end with the test, also if it is killed.
//
// A server is the test binary, started again: this package makes it one before anything of the
// tests runs.
package etcdtest
