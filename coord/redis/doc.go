// Package redis leases worker IDs in Redis: one server, a master that Sentinel looks
// after, or a Cluster. It is the fastest coordinator, and the one that promises least: see
// "What Redis cannot promise" below.
//
//	import _ "github.com/unalike-id/unalike/coord/redis"
//
//	ids, err := unalike.Open(ctx, "redis://host:6379/0?namespace=orders", unalike.Config{})
//
// The URL is one of these:
//
//	redis://user:password@host:6379/0?namespace=orders
//	redis-sentinel://host1,host2,host3/mymaster/0?namespace=orders
//	redis-cluster://host1,host2,host3?namespace=orders
//
// Or with a client of your own, which stays yours:
//
//	client := goredis.NewClient(&goredis.Options{Addr: "redis:6379"})
//	c, err := redis.New(client, "orders", redis.Options{})
//	g, err := core.New(ctx, c, core.Config{})
//
// Declare a namespace new before its first use, with the tool (unalike init --coordinator URL) or
// with Init. Otherwise the first holder waits for half a minute: to Redis, a namespace that never
// was and one that was lost look the same.
//
// # The URL
//
// With rediss in place of redis (rediss, rediss-sentinel, rediss-cluster) connections
// use TLS. Ports may be left out and are 6379 then, or 26379 for Sentinels. The path
// is the database; for Sentinel, the name of the master and then the database; a
// Cluster has one database and no path. A password without a user is that of the user
// default. Open contacts nobody. Options:
//
//	namespace             required
//	ttl, horizon, renew   times of the lease, see coord.LeaseConfig
//	skew                  how far apart clocks may be, 1s
//	durable               require: the server keeps what it confirms, see Options.Durable; of a
//	                      single server
//	ca                    certificates in PEM form that sign the servers'; the system's
//	cert, key             the client's certificate and its key
//	password_file         a file with the password, in place of one in the URL
//	user_file             a file with the user, in place of one in the URL; with password_file
//	sentinel_user, sentinel_password, sentinel_user_file, sentinel_password_file
//	                      the same for the Sentinels themselves, if they want a login
//
// Each connection reads the files, so that replacing one needs no restart. Go reads the system's
// authorities once: name them with ca if they change.
//
// # Your own client
//
// [New] takes a [goredis.Client], also one from NewFailoverClient, or a [goredis.ClusterClient],
// with the library's default options or with your own. It never has a command repeated that a
// server may have executed, whatever MaxRetries is: the keeper makes the retries. Redirections in a
// Cluster are followed.
//
// ReadTimeout and WriteTimeout should be -1, and ContextTimeoutEnabled true. Otherwise the client
// cuts each connection whose answer takes longer than the timeouts (5 s by default), and a Redis
// that is slower never serves. ConnMaxLifetime should be a minute at most, jitter included, unless
// Sentinel or a Cluster says where the master is: only a new connection resolves the server's name
// again. Describe warns of both. These clients are refused:
//
//   - A client whose calls may last for more than [MaxHorizon] without an answer: ReadTimeout or
//     WriteTimeout is -2, or it is longer or -1 and ContextTimeoutEnabled is false.
//   - A Ring, and a Cluster client with ReadOnly, RouteByLatency or RouteRandomly: they may ask
//     servers that lack the stored data.
//
// The client does not notice that a context is cancelled while it waits for an answer;
// this package returns at once, and leaves the call to end by itself. A call whose context
// has ended goes on in the background for as long again, so that an answer that comes late
// finds its connection, which the next call uses.
//
// The client library logs to standard error, for the whole process. This package leaves
// out the lines that say of each attempt to connect that it failed, because an error says
// that as well; goredis.SetLogger in the program's main brings them back, and
// logging.Disable of the client library silences the rest.
//
// Redis 7.0 or later is needed. A user with restricted rights needs these on the keys
// of the namespace:
//
//	ACL SETUSER app on >password ~{orders}:* +evalsha +eval +time +info +hget +hmget +hset
//	    +hdel +hlen +hkeys +set +del +pttl
//
// and these as well, which the client calls by itself: +select for a database other than
// 0, and in a Cluster, on all nodes, +cluster|slots and +command. (Without +command
// nothing fails, but the client asks again with each call, which costs two round trips.)
//
// # What is stored
//
// The lease of worker ID 7 is the key {orders}:worker:7, with a TTL. It says who holds the worker
// ID, and since when; that of a retired worker ID has no TTL. A worker ID is held while its key
// exists. An operator who deletes the key ends the lease, and its holder puts it back with its next
// renewal unless another process was faster. Newcomers try the worker ID again when the time of the
// key is over, or after 15 s if an operator gave it more time or none. No window is lost by that:
// the hash {orders}:namespace has the windows.
//
// The comment of step.lua, the one script that reads and writes all of it, says what the fields of
// the hash are. Slots and the namespace's record are JSON after the number of times that they were
// written; one that this driver cannot have written is an error that names it, and is never
// overwritten.
//
// While a slot of a Cluster moves to another node, some of its keys are here and some are there.
// Steps that need a key of either kind wait until they are together.
//
// The script decides nothing about windows, but refuses what must not be written, in the step
// that writes and by the server's own clock: on a server or history that the namespace does not
// know, a window that ends more than [MaxHorizon] ahead, and whatever was decided by what is
// no longer stored. docs/guarantees.md says why.
//
// # Clocks
//
// The server's clock decides. A newcomer whose clock is further from it than
// [Options.SkewBound] is refused with coord.ErrClockSkew; so is whoever raises or lowers a floor,
// also after a loss: then nothing is written. No window reaches further ahead of the server's
// clock than [MaxHorizon]: what is asked for beyond that is cut.
//
// # If Redis forgets
//
// Redis confirms a write before it is on a disk or at a replica. A restart, a failover
// or FLUSHALL may take back what was confirmed, windows among it. The script therefore
// compares the server and the history of its data (run_id and master_replid) with those
// that the namespace was settled in. Where they differ, and where the namespace is not
// there, it is quarantined: nothing is granted or extended until [MaxHorizon] and the
// skew bound have passed, because no window that was forgotten reaches further. What the server
// does not notice, processes may that have seen more: docs/guarantees.md has the list.
//
// Init ends the quarantine of a namespace that was made because none was there, if nothing was
// granted in it and no holder has shown a grant that was forgotten. So declare a namespace new
// once, and never after a loss.
//
// Holders go on to the end of the windows that they have. With the default horizon,
// that is as long as MaxHorizon, and they are without IDs for about as long as Redis
// was away, the renewal interval and the skew bound: some seconds. Shorter horizons
// wait for longer.
//
// # A durable server
//
// A single server with appendonly yes and appendfsync always has all confirmed writes when it
// restarts. With [Options.Durable] a restart is no loss: holders go on, and the history counts
// as the same if the process has received nothing as a replica since it began. An old file may
// have been put back, which only a holder can notice. So grants begin above all windows that
// were open when the server started, at most [MaxHorizon] and the skew bound later. All that the
// section above says of other losses holds. The server's settings are checked with each
// acquisition; appendfsync only if the user may read it (+config|get).
//
// # A new history that is no loss
//
// A master that gets its first replica, or one redis-cli --rdb, begins a new history, and
// so does one that has had no replica for repl-backlog-ttl. Its data are the same. The new
// name is taken over, without a quarantine, if all of this is so:
//
//   - The server is the same process: run_id is unchanged. So nothing was loaded from a
//     disk, and data can have been replaced only by a replication from another server.
//   - It is a master, and names no history before its own: master_replid2 is all zeros and
//     second_repl_offset is -1. A server that was a replica and is promoted names there the
//     history that it followed. It forgets that in one way, with its backlog: when it has
//     had no replica for repl-backlog-ttl since.
//   - It has received nothing as a replica since the name was stored:
//     total_net_repl_input_bytes is the same. Whoever follows another server and loses
//     writes of its own to it gets a copy of all data, which is counted there. Only CONFIG
//     RESETSTAT sets it back.
//
// So a failover and back, without a restart, in which writes were lost, is missed only if
// the statistics were reset after it, and nothing was written between it and the moment at
// which the server forgot the other history. By then all windows that were lost are over,
// because that takes repl-backlog-ttl: an hour, unless it was set. Keep it at 0, which is
// never, or at a minute and more. A server that does not show these figures is
// quarantined. So is a namespace whose slot of a Cluster moves to another node.
//
// # A master that was left
//
// A replica refuses every call, and its answer closes the connection. A master that goes on after
// its name has moved is left within a minute: connections of a URL are replaced at an age of 30 to
// 60 s. The new connection is opened first, and the old one stays in use while the name leads to
// nothing that answers as a master.
//
// # What Redis cannot promise
//
// No ID is issued twice as long as the clocks of servers that succeed each other differ
// by less than the skew bound (or, if not, nobody shares the new one's mistake), and as
// long as one master at a time accepts writes. A master that is cut off, while another
// one was elected, knows of no quarantine and goes on: set min-replicas-to-write to 1,
// and min-replicas-max-lag to some seconds, and add as much to the skew bound. Deleting
// single fields of the hash, or putting an older copy of it back into the same running
// server, is noticed only when somebody comes who has seen more, and others may have been
// granted what was lost by then: call Quarantine at once. If that is not
// enough, use etcd or ZooKeeper.
//
// A namespace that another one follows, see package follow, is closed for as long as Redis
// remembers that. FLUSHALL, DEL, a restart without the data or a backup from before the
// move open it again, for whoever has not seen the closing: after the quarantine, it
// grants what the other one grants. Before the data, take the rights of the old generators
// away, or their URL. docs/runbooks/moving.md has the order.
//
// docs/runbooks/redis.md says how to set up the server, and what to do when.
package redis
