// Package etcd keeps the numbers of package segment in an etcd cluster: one key for each tag, and
// one transaction for each take, which compares that key with the value that was read.
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
// A take that has met two conflicts makes a wish: a key below the same prefix, which ends with a
// lease of 4 s. The next program that takes a range takes one for each wish as well, 60 at most,
// and puts it into a key for each. So each of 64 takers of one tag needs some three requests. No
// take waits for another one. The range for the wish of a process that was killed is left out.
//
// # Losses
//
// Confirmed writes are on the disks of a majority. The key "\x00cluster" below the prefix names the
// cluster of all tags by its ID, and each take compares it. A program that meets another cluster,
// as after restoring a snapshot, or one whose revision is below one that the program saw, records
// that there: every program then fails with segment.ErrStoreChanged until all tags are advanced,
// with 'unalike segments advance --all'. A tag that is advanced alone can be used before. With
// failover=skip:N the program adds N to every tag instead. The key keeps the sum of such numbers,
// and a tag gets its part when it is used next.
//
// A tag that went back below a number that a program handed out is recorded in the key of the tag:
// every program fails with segment.ErrWentBack until the tag is advanced above that number. The
// loss stays unnoticed until the program with that number takes its next range.
package etcd
