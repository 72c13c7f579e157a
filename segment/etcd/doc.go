// Package etcd keeps the numbers of package segment in an etcd cluster: one key a tag, and one
// transaction a take that compares the key's revision.
//
// As a URL for segment.Open, with this package imported for its side effect:
//
//	etcd://user:password@host1:2379,host2:2379/namespace
//	etcds://host1,host2/namespace?ca=/etc/ca.pem&cert=/etc/me.pem&key=/etc/me.key
//
// Or with a client of your own, which stays yours:
//
//	store, err := etcd.New(client, "orders", etcd.Options{})
//
// Options of the URL: durable and failover as in package segment/mysql, and ca, cert, key with the
// scheme etcds; user_file and password_file as in package coord/etcd. A tag is the key
// /unalike/segments/{namespace}/{tag}; its value is JSON. Package embedded of the same folder runs
// the server too.
//
// # Many takers
//
// Who has met others twice stands in line: a key below the same prefix, which no tag can have and
// which goes with the take. Each waits for the one before it, so that all get their ranges in their
// order with a few requests each. A place whose process has ended is removed by the next one after
// a second.
//
// # Losses
//
// What a cluster has confirmed is on the disks of a majority. A cluster that was made anew has
// another ID: that is refused with segment.ErrStoreChanged until somebody has advanced the tag, and
// so is one that has gone back, because its revision is below one that this process has seen. The
// ID is kept with each tag as well, so that programs which start later notice it: after restoring a
// snapshot, etcd has a new cluster ID.
//
// Giving back compares the revision that the last take has left, and so may be repeated by a client
// without harm.
package etcd
