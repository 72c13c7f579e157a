package frozen

// etcdMutants are mistakes that coord/etcd could make beside those of the protocol.
var etcdMutants = []mutant{
	{
		name: "etcd: a lease of the same token has the same ID",
		file: "coord/etcd/lease.go",
		old:  "s.lease.id = newLeaseID()",
		new:  "s.lease.id = clientv3.LeaseID(s.token[0])",
		pkg:  "./coord/etcd", test: "TestLateRevoke",
	},
}
