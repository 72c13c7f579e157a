// Package embedded runs a real etcd inside the user's process, on a folder, so that a
// machine with nothing but Go has real leases. It is for development, for tests, for
// tools, and for programs that all run on one machine.
//
//	c, err := embedded.New(ctx, "/var/lib/orders/ids", "orders", embedded.Options{})
//	g, err := core.New(ctx, c, core.Config{})
//
// Or as a URL for coord.Open, with this package imported for its side effect:
//
//	embed:///var/lib/orders/ids?namespace=orders
//	embed:///C:/data/ids
//
// The rest is package etcd: the same keys, the same rules, the same promise.
//
// # What it is not
//
// It does not replicate: other machines cannot join, and if the disk is lost, so is
// the state. For more than one machine run an etcd cluster and use package etcd.
// Windows on Linux, containers, and machines that share a network file system are
// other machines: the lock on which all rests is for local file systems.
//
// # The URL
//
// The path is the folder, and it is absolute; on Windows it begins with a drive. There
// is no host and no user. Options:
//
//	namespace             "default" if it is not given
//	ttl, horizon, renew   times of the lease, see coord.LeaseConfig
//
// # One server, many processes
//
// Any number of processes of this machine can use a folder at once, and so can any
// number of coordinators in one process. The first takes the folder's lock, starts the
// server on a port that the system chooses, and writes into the folder where it is. The
// others find the lock taken and join as clients. They look ten times a second whether
// the lock is free. When the process with the server ends, in good order or by kill
// -9, the system frees the lock, and one of the others starts the server again on the
// same data; the rest follows. That took 0.07 to 0.15 s where it was measured. Holders
// issue inside their windows meanwhile, which reach 30 s ahead by default, so no Next
// fails. A call that finds no server waits for the next one, and one that is under way fails: a
// generator makes it again.
//
// Leases stand still while nobody runs the server, and begin anew with it: worker IDs of
// processes that were all killed at once are free one TTL after the next start. Until then
// the next process takes others, or waits, and says so, if there are none. One machine has
// one clock, so nobody's is compared with those of holders, see package etcd.
//
// A server that nobody can connect to any more, because what listens for it has failed,
// ends as well, and is started again.
//
// Three things are not taken over:
//
//   - A process that is frozen (SIGSTOP, a debugger, a suspended container) keeps the
//     lock. The others issue to the ends of their windows and then return errors, which
//     name the process. End it, or let it go on.
//   - A process whose etcd fails because its disk does, in such a way that it cannot be
//     ended cleanly, keeps the lock until it ends. It is told so by every call. An etcd
//     on its own ends its process at such an error; this one does not end yours.
//   - Data whose folder.json somebody has deleted, or replaced by an older one that knows of
//     no use. They are left as they are, and calls say so until the right one is back.
//     Keep programs that delete old files from the folder: folder.json is as old as the
//     folder.
//
// # The folder
//
//	lock            locked by the process that runs the server, and has its number
//	folder.json     what the folder is: a random name, and whether it was ever in use
//	endpoint.json   where the server is, while it runs
//	etcd/           the data of etcd, and a file, served, once they are in use
//
// A start that is killed before a server was ever ready leaves data from which none gets
// ready. The next start removes them, if folder.json and the data both say that they were
// never in use.
//
// New makes the folder, readable for its owner alone, and refuses one that holds
// anything else. A namespace in a new folder is new, and nobody waits: see package etcd
// on namespaces that were never seen.
//
// So deleting the folder, or restoring it from a backup, while programs use it or just
// after they have ended breaks the promise: what they were granted is not on record
// any more. Wait MaxHorizon of package etcd, 2 minutes, or what the namespaces were declared with,
// after the last of them has ended. A program that has the folder in use notices within a tenth of
// a second, makes the folder again or joins whoever did, and raises the floor, so that nothing is
// granted there for two minutes; what others were granted before that, nobody can take back.
//
// What was acknowledged is on the disk: every write is synced, those of the files above
// together with their names, and kill -9 or a power failure loses none of it, as far as
// the disk keeps what it says. Windows cannot sync names; NTFS writes them to its journal,
// in order.
//
// # Security
//
// The server listens on a port of 127.0.0.1, without TLS. Any user of the machine can
// connect to it. Calls carry the folder's random name, and the server refuses those
// that do not, so whoever cannot read the folder can neither read nor change what is
// stored, nor see its metrics. A folder that every user can write is refused. The name also
// keeps apart folders whose servers had the same port in turn. It is no protection from somebody
// who can listen to loopback, or who takes the port over when the server ends and waits for
// clients: on a machine whose users do not trust each other, run an etcd with certificates.
//
// # What it costs
//
// Measured on Linux, two cores:
//
//   - Start: 25 to 60 ms until the server answers, new or not; 3 ms to join.
//
//   - Memory: 8 to 25 MB more resident, most of it mapped files; 3 MB of it is the
//     process's own. Joined: 4 MB.
//
//   - Processor: 1 % of a core when idle; it has short ticks, so that it starts fast.
//
//   - Disk: 64 MB, and 128 MB while the server runs, nearly all of it set aside by etcd
//     for its log and empty. Old log files are deleted and past revisions forgotten, every
//     five minutes and at a start, so it does not grow with time; a renewal writes about
//     1 KB. The log's files can be smaller, but only for all servers of a process at once,
//     which is for the program to decide and not for a library:
//
//     wal.SegmentSizeBytes = 4 << 20 // go.etcd.io/etcd/server/v3/storage/wal
//
// in main makes that 4 and 8 MB. The command line tool does.
package embedded
