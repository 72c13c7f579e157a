// Package zk leases worker IDs in a ZooKeeper ensemble.
//
//	c, err := zk.New([]string{"zk1:2181", "zk2:2181", "zk3:2181"}, "orders", zk.Options{})
//	g, err := core.New(ctx, c, core.Config{})
//
// Or as a URL for coord.Open, with this package imported for its side effect:
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
//
// Opening contacts nobody.
//
// # The lease is a session
//
// A client of ZooKeeper has a session, which the servers end when they have not heard
// of it for its timeout. Ephemeral nodes are there for as long as the session that
// made them. The timeout is the TTL, and the node owners/NNNN is the lease.
//
// Every grant has a session and a connection of its own: a session can only end as a
// whole, and a grant is released, or lost, without the others. So the servers'
// maxClientCnxns, which is 60 connections from one host by default, has to be higher
// than the number of generators on a host. If a session ends while its holder lives,
// because the process was paused for example, the next renewal opens another one and
// puts the owner node back, provided that the slot is unchanged. [Coordinator.Lost]
// reports it at once: when the client learns that its session has ended, and, by a
// watch, when the owner node is deleted.
//
// A connection keeps its session alive by itself, also for a holder that has stopped
// renewing. So the driver ends the session of a grant that was not renewed for a TTL.
//
// Servers make sessions no shorter and no longer than their bounds, without a word: by
// default 2 and 20 of their ticks, 4 s and 40 s. A TTL outside of them is refused, with
// both figures, because the lease would not be the one that was configured. An operator
// has no lease, and is served whatever the bounds are.
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
//	tokens/TOKEN          leads from an acquisition to its worker ID; on the same session
//	identities/IDENTITY   the worker ID that an identity had last, until another identity has it
//	clock                 empty, written before anything is read; its version is the ticket
//
// meta and each slot have one child, the mark, whose name is a digest of their value.
//
// # Comparing values
//
// A renewal must not go through unless the slot is what its holder believes. What
// ZooKeeper can compare in a transaction is versions, and versions come again: after a
// backup was restored, a slot may have version 12 again for another holder, or meta
// version 1 again for another floor. docs/guarantees.md shows the duplicates that come
// of it. Transactions cannot compare values, but they can demand that a node with a
// given name is there. So every write of a record deletes the child that is named after
// the old value and makes the one that is named after the new. A transaction that
// deletes the mark of what its holder knows, or checks it, succeeds only if the record
// is exactly that: token, generation, window and all. It costs no round trip.
//
// That a mark belongs to the value beside it holds in the first state of a node and is
// kept by each transaction, so it holds in every state, and in every earlier one that a
// restored backup may bring back. It rests on digests of 128 bits of SHA-256 being
// different for different values.
//
// # An acquisition
//
//  1. Connect and get a session.
//  2. Write the clock, and read meta, the token, the names of the owners and the
//     identity. The requests are sent one after the other without waiting, and servers
//     handle those of a session in their order, so this is one round trip; and what is
//     read after a write in the same session is at least as new as the write. Reads
//     alone may be old. The answer to the write has the time on the leader's clock, and
//     the clock's version, the ticket.
//  3. Read some 30 free slots, from the ticket on: tickets follow each other closely, so
//     a thousand processes that start together begin at a thousand different worker IDs.
//     The worker ID that the identity had last comes first. If none of them can be used,
//     the next 32 are read.
//  4. One transaction on the first slot whose window opens in time: meta is as it was
//     read, there is no owner and no such token, the slot is as it was read.
//
// That makes four round trips if no worker ID is held, and five with one that asks holders for
// a sign of life, however many there are; one more if another identity had the worker ID: what
// leads from that one to it is deleted. Others
// who take the same slot at the same moment cost one more each; the first acquisition
// in a namespace makes its nodes. A renewal is one round trip, and so is a release.
//
// # Lost and slow answers
//
// If the answer to a transaction is lost, the call writes the clock and reads on the same
// session: requests of a session are carried out in order, so what the lost one has done
// is visible then, or it never will be done. If time is up before that, the outcome stays
// unknown, and another call goes on from there: a renewal looks first, and an acquisition
// keeps its session for one TTL, so that another call with the same token finds the same
// grant, by the token's node.
//
// A call may use all of the time that its caller gives it, for whichever of its round
// trips needs it, and what it has reached when that is over is kept for the next one. So
// calls get through in the end if there is time for one round trip.
//
// A connection is alive as long as anything arrives on it, the answers to pings among
// them. It is given up where answers are owed and nothing at all has arrived for a third
// of the TTL, or for three times the longest round trip of late if that is more; the
// TTL is the most. A server has a fifth of the TTL to answer to the request for a
// session, and twice as long each time it does not.
//
// # Clocks
//
// An acquisition compares its clock with the leader's, and is refused with
// coord.ErrClockSkew if they differ by more than [Options.SkewBound]. Renewals do not
// push a window further than [MaxHorizon], or what the namespace was declared with, and the
// bound ahead of the leader's clock, whatever the holder's clock says. A slot whose window reaches further than that is not
// granted any more; retire its worker ID. After a loss the leader's time counts for the
// floor if it differs from this clock, and an operator whose clock is wrong is refused with coord.ErrClockSkew before
// anything is written. [Coordinator.Lower] lowers a floor that reaches too far all the
// same.
//
// # If ZooKeeper forgets
//
// Uniqueness holds for as long as committed writes survive. Where they do not, a
// backup restored or a data folder rolled back, the windows of that time are not on
// record. The driver notices when the version or the generation of a holder's slot falls,
// when a generation has another token or a shorter window, when a slot or the namespace is
// gone, when the namespace is another one, and when a write gets a transaction number that is
// not above all that were seen before. It then raises the floor: nothing is granted or
// extended until [MaxHorizon], or what the namespace was declared with, and the skew bound
// have passed, because no window that was lost reaches further. A floor that the process knew
// is put back as well. The floor is raised once for each loss: meta has a record of the last
// one.
//
// A server refuses clients that have seen later transactions than its own, without
// saying why. The client library would try for ever; here, a session without a
// connection is given up after its TTL, and the next one, which the server takes,
// shows the loss.
//
// What has no memory cannot notice, and an ensemble that elects a new leader after a restore
// counts its transactions from a higher number than before, so that only the slots of holders
// from before show the loss. Sessions come back with the data: while one of them stands whose
// holder has not renewed within its TTL, nothing is granted, for one TTL at most. That leaves
// holders who live the time to notice. If the data are younger than that, or nobody has
// survived, call [Coordinator.Quarantine] before anything else starts; docs/runbooks/zookeeper.md has
// the steps. Do not delete namespaces that are in use, or wait [MaxHorizon], or what they were
// declared with, after the last holder has ended.
//
// # If ZooKeeper is away
//
// Holders issue to the end of their windows: with the default horizon of 30 s and a
// renewal every 5 s, an outage of up to 25 s is not noticed. What comes after it is an
// error that says so, and service resumes by itself when ZooKeeper answers. A longer
// horizon bridges longer outages; the price is that the next holder of a worker ID
// waits as long after a crash, if no other worker ID is free.
package zk
