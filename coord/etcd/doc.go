// Package etcd leases worker IDs in an etcd cluster. It is the recommended
// coordinator: what etcd has committed survives the loss of a minority of its
// members, and every decision is one transaction.
//
//	import _ "github.com/unalike-id/unalike/coord/etcd"
//
//	ids, err := unalike.Open(ctx, "etcd://host1:2379,host2:2379/orders", unalike.Config{})
//
// The URL is one of these:
//
//	etcd://host1:2379,host2:2379/orders
//	etcds://user:password@host1:2379/orders?ca=/etc/ca.pem&cert=/etc/me.pem&key=/etc/me.key
//
// Or with a client of your own, which stays yours:
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
//	c, err := etcd.New(client, "orders", etcd.Options{})
//	g, err := core.New(ctx, c, core.Config{})
//
// # The URL
//
// The scheme etcds is etcd with TLS. The path is the namespace; the port may be left
// out and is 2379 then. A user and a password log in to a cluster that has
// authentication enabled; that is the only thing for which Open contacts it. Options:
//
//	ttl, horizon, renew   times of the lease, see coord.LeaseConfig
//	skew                  how far a newcomer's clock may be from the holders', 1s
//	ca                    certificates in PEM form that sign the servers'; the system's
//	cert, key             the client's certificate and its key
//	password_file         a file with the password, in place of one in the URL
//	user_file             a file with the user, in place of one in the URL; with password_file
//
// Each connection reads the files, so that replacing one needs no restart. Go reads the system's
// authorities once: name them with ca if they change.
//
// # Your own client
//
// Set DialKeepAliveTime to 10 s and DialKeepAliveTimeout to 3 s: without them, a
// connection whose other end vanished is noticed only after minutes. Name all
// members as endpoints, so that a call that failed on one goes to another. If the
// cluster has authentication, the user needs the right to read and write the keys
// with the prefix /unalike/NAMESPACE/.
//
// # What is stored
//
// All keys of a namespace begin with /unalike/NAMESPACE/. Values are JSON; a value
// that this driver cannot have written is an error that names the key, and is never
// overwritten.
//
//	namespace           layout and floor
//	cluster             the ID of the cluster
//	slot/0000000007     the window of worker ID 7; for ever
//	holder/0000000007   who has it, and what else renewals do not change; for ever
//	owner/0000000007    there while the holder's lease lives
//	token/...           leads from an acquisition to its worker ID; on the same lease
//	identity/...        the worker ID that an identity had last, until another identity has it
//	ticket              its Version numbers the acquisitions
//
// So there are three keys for each worker ID that was ever granted, and two more for each that
// is held. A renewal writes slot and owner, which is less than 400 bytes of the database:
// docs/runbooks/etcd.md has the formula. The namespace "segments" is refused, because package
// segment/etcd keeps numbers below /unalike/segments/.
//
// An acquisition draws a ticket, and with it reads everything but the slots. Tickets
// are numbered without gaps, so a thousand processes that start together begin at a
// thousand different worker IDs; the first one is random for each namespace. It then
// reads some 30 free slots from there on, grants a lease, and takes the first slot whose
// window opens in time: one transaction, on condition that the slot, its owner and the
// namespace are as they were read. That makes four calls, of which two are made at the
// same time. Others who take the same slot at the same moment cost two calls more.
//
// A renewal is one transaction on the same condition, and a keep-alive of the lease
// at the same time. If the reply to a transaction is lost, reading tells whether it
// was done. If the lease ended while its holder lives, the renewal puts it back,
// provided that nobody has taken the worker ID. The coordinator watches the owner key, so
// that this happens at once, and so that a holder learns that its worker ID was retired.
//
// A request may take all the time that a call has left, since a slow cluster is no broken
// one. If there is no answer after half of it, and after three quarters, and the client has
// other endpoints, the request is made once more while the first one goes on. What an
// acquisition has reached, its ticket and its lease, is kept for the next one with the same
// token.
//
// # Clocks
//
// A holder with a clock far ahead would push the end of its slot's window into the
// future, where it helps nobody. So a newcomer compares its clock with the holders':
// each renewal stores the holder's time. If there are two holders or more, a newcomer
// whose clock agrees with none of them, give or take [Options.SkewBound] and their TTL, is
// refused with a [coord.ClockSkewError]. With fewer holders nobody can say whose clock is
// wrong. A slot whose window reaches further than [MaxHorizon], or what the namespace was
// declared with, and the bound is not granted any more; retire its worker ID.
//
// A dead holder is no clock: leases stand still while etcd is down, so that after an
// outage those of the dead live on for one TTL. As long as a lease stands whose holder has
// not renewed within its TTL, the error says by when it has ended, and generators wait for
// that.
//
// Where all programs run on one machine, [Options.OneMachine] turns this off.
//
// # If etcd forgets
//
// Uniqueness holds for as long as committed writes survive. Where they do not, a
// backup restored or a data folder rolled back, the windows of that time are not on
// record. The driver notices when the revision of the cluster or of a holder's slot falls,
// when the cluster has another ID than the namespace remembers, when a namespace or a slot
// that it knew is gone or was made again, and when a generation was granted twice. It then
// raises the floor: nothing is granted or extended until [MaxHorizon], or what the namespace
// was declared with, and the skew bound have passed, because no window that was lost reaches
// further. The namespace keeps a record of the loss. Whoever notices it later, and has seen
// nothing since, does not raise the floor again.
//
// The floor is raised at once, by the latest of this clock and of what the holders have said at
// their last renewals. If one of these clocks is wrong, the floor may be too far ahead. It is not
// lowered by itself: the error says so, and [coord.AdminCoordinator.Lower] is the way out.
//
// What has no memory cannot notice. Leases come back with the data: while one of them stands
// whose holder has not renewed within its TTL, nothing is granted, for one TTL at most. That
// leaves holders who live the time to notice. If the data are younger than that, or nobody has
// survived, call [coord.AdminCoordinator.Quarantine] with the zero time before anything else
// starts; restore with a new cluster token (etcdutl snapshot restore
// --initial-cluster-token) and with --bump-revision and --mark-compacted. A namespace
// whose keys were all deleted looks like a new one to whoever did not know it: do not
// delete namespaces that are in use, or wait [MaxHorizon], or what they were declared with,
// after the last holder has ended.
//
// # If etcd is away
//
// Holders issue to the end of their windows: with the default horizon of 30 s and a
// renewal every 5 s, an outage of up to 25 s is not noticed. What comes after it is an
// error that says so, and service resumes by itself when etcd answers. A longer
// horizon bridges longer outages; the price is that the next holder of a worker ID
// waits as long after a crash, if no other worker ID is free.
package etcd
