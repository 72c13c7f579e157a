// Package zk leases worker IDs in a ZooKeeper ensemble.
//
//	import _ "github.com/unalike-id/unalike/coord/zk"
//
//	const url = "zk://host1:2181,host2:2181,host3:2181?namespace=orders"
//	ids, err := unalike.Open(ctx, url, unalike.Config{})
//
// The URL is one of these:
//
//	zk://host1:2181,host2:2181,host3:2181?namespace=orders
//	zk://user:password@host1,host2/apps?namespace=orders&ttl=10s
//
// # The URL
//
// The path is a node under which everything lies, the chroot; it must exist. The port
// may be left out and is 2181 then. A user and a password log in with ZooKeeper's
// digest scheme, and the nodes that are made can then be used with them alone; without
// them, anybody who reaches the servers can change the nodes. Options:
//
//	namespace             required
//	ttl, horizon, renew   times of the lease, see coord.LeaseConfig
//	skew                  how far a clock may be from the servers', 1s
//	password_file         a file with the password, in place of one in the URL
//	user_file             a file with the user, in place of one in the URL; with password_file
//
// Each connection reads the files. The nodes belong to a user with a password, so an operator
// changes their ACLs as well: docs/runbooks/zookeeper.md has the steps. A session that is refused
// access connects again if the files have changed, and goes on with the new login.
//
// Opening contacts nobody.
//
// # The lease is a session
//
// A client of ZooKeeper has a session, which the servers end when they have not heard
// of it for its timeout. Ephemeral nodes are there for as long as the session that
// made them. The timeout is the TTL, and the node owners/NNNN is the lease.
//
// Every grant has a session and a connection of its own, because a session can only end as
// a whole. So the servers' maxClientCnxns, 60 connections from one host by default, has to
// be higher than the number of generators on a host. If a session ends while its holder
// lives, the next renewal opens another one and puts the owner node back, provided that the
// slot is unchanged. The coordinator reports it at once: when the client learns that its
// session has ended, and, by a watch, when the owner node is deleted.
//
// A connection keeps its session alive by itself. So the driver ends the session of a grant
// that was not renewed for a TTL, and of acquisitions that were given up it keeps eight for
// a TTL, for another call with the same token.
//
// Servers make sessions no shorter and no longer than their bounds, without a word: by
// default 2 and 20 of their ticks, 4 s and 40 s. A TTL outside of them is refused, with
// both figures. An operator has no lease, and is served whatever the bounds are.
//
// # What is stored
//
// All nodes of a namespace lie under CHROOT/unalike/NAMESPACE. Characters other than
// letters, digits, - _ and . are written %XX in names. Values are JSON; a value that
// this driver cannot have written is an error that names the node, and is never
// overwritten.
//
//	meta                  layout, floor, and the last loss of writes
//	slots/0000000007      the window of worker ID 7 and who has it; for ever
//	owners/0000000007     there while the holder's session lives, or for ever if 7 is retired
//	holders/TOKEN-NNNN    whose session it is, as text; ephemeral and sequential
//	tokens/TOKEN          leads from an acquisition to its worker ID; on the same session
//	identities/IDENTITY   the worker ID that an identity had last, until another identity has it
//	clock                 empty, written before anything is read
//
// The session of an acquisition registers among the holders once. The number at the end of its
// node's name is the ticket: a thousand processes that start together begin their search at a
// thousand different worker IDs. The worker ID itself is no such number, because numbers only grow
// and worker IDs are few; so the owner node decides who has one.
//
// # Round trips
//
// An acquisition connects; writes the clock, registers, and reads meta, the token, the names of
// the owners and the identity; reads some 30 free slots; and makes one transaction: meta and the
// slot are as they were read, and there is no owner and no such token. That makes four round
// trips, and one more if holders are asked for a sign of life, if another identity had the
// worker ID, or if somebody else has taken the same slot at the same moment. The first
// acquisition in a namespace makes its nodes. A renewal is one round trip, and so is a release.
//
// What is read after a write in the same session is at least as new as the write; reads
// alone may be old. The write's answer has the time on the leader's clock.
//
// # Lost and slow answers
//
// If the answer to a transaction is lost, the call writes the clock and reads on the same
// session, after the transaction was answered or its connection has ended. Servers carry
// out requests of a session in order, and none of a connection that was followed by
// another, so what the lost one has done is visible then, or it never will be done. If time
// is up before that, the outcome stays unknown, and another call goes on from there.
//
// The client gives a connection up on which nothing arrives for two thirds of the TTL; it
// sends a ping three times in a TTL. So connections are kept where answers take up to a third
// of the TTL. A server has a fifth of the TTL to answer to the request for a session, and twice
// as long each time that none has. A call may use all of the time that its caller gives it.
//
// # Clocks
//
// An acquisition compares its clock with the leader's, and is refused with coord.ErrClockSkew if
// they differ by more than [Options.SkewBound]. Renewals do not push a window further ahead of the
// leader's clock than [MaxHorizon], or what the namespace was declared with, and the bound. An
// operator whose clock is wrong is refused before anything is written.
// [coord.AdminCoordinator.Lower] lowers a floor that reaches too far all the same.
//
// # If ZooKeeper forgets
//
// Uniqueness holds for as long as committed writes survive. Where they do not, a
// backup restored or a data folder rolled back, the windows of that time are not on
// record. The driver notices when a holder's slot or the namespace is older than it was, or
// another one, or gone, and when the clock was written less often than before. It then raises
// the floor: nothing is granted or extended until [MaxHorizon], or what the namespace was
// declared with, and the skew bound have passed, because no window that was lost reaches
// further.
//
// ZooKeeper's transactions compare versions, and versions come again after a loss. So a
// renewal also asks for the node of its token, which does not.
//
// A server refuses clients that have seen later transactions than its own, without
// saying why. The client library would try for ever; here, a session without a
// connection is given up after its TTL, and the next one, which the server takes,
// shows the loss.
//
// What has no memory cannot notice. Sessions come back with the data: while one of them stands
// whose holder has not renewed within its TTL, nothing is granted, for one TTL at most. That
// leaves holders who live the time to notice. If the data are younger than that, or nobody has
// survived, call [coord.AdminCoordinator.Quarantine] before anything else starts;
// docs/runbooks/zookeeper.md has the steps. Do not delete namespaces that are in use, or wait
// [MaxHorizon], or what they were declared with, after the last holder has ended.
//
// # If ZooKeeper is away
//
// Holders issue to the end of their windows: with the default horizon of 30 s and a
// renewal every 5 s, an outage of up to 25 s is not noticed. What comes after it is an
// error that says so, and service resumes by itself when ZooKeeper answers. A longer
// horizon bridges longer outages; the price is that the next holder of a worker ID
// waits as long after a crash, if no other worker ID is free.
package zk
