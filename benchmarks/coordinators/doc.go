// Package coordinators measures the coordinators on real servers on this machine: one
// etcd, one ZooKeeper, one PostgreSQL and one MariaDB, which sync every write to the disk,
// one Redis, which keeps everything in memory, and one API server of Kubernetes on an etcd.
//
//	go test -run '^$' -bench . ./benchmarks/coordinators
//
// None of this is on the way of an ID: it is what a start, a renewal and a shutdown of
// a generator cost, and what generators cost their back end. A server that is not
// installed is skipped; scripts/servers installs it, and scripts/kubernetes builds the API server.
package coordinators
