// Package etcdtest runs real etcd servers for tests: one inside the test's own
// process, or members of a cluster as processes that can be stopped and killed.
// They listen on loopback, keep their data in folders of the test, are silent, and
// end with the test, also if it is killed.
//
// Members are the test binary, started again. A package that wants them calls
// [Main] at the beginning of its TestMain:
//
//	func TestMain(m *testing.M) {
//		etcdtest.Main()
//		os.Exit(m.Run())
//	}
package etcdtest
