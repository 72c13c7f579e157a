// Package mysql leases worker IDs in a MySQL (8.0 and later) or MariaDB (10.6 and later)
// database. See package coord for the rules.
//
//	import _ "github.com/unalike-id/unalike/coord/mysql"
//
//	const url = "mysql://user:password@host/database?namespace=orders"
//	ids, err := unalike.Open(ctx, url, unalike.Config{})
//
// What is stored, and how, is said in internal/sqlstore, which this driver shares with package
// postgres. The URL is one of these:
//
//	mysql://user:password@host:3306/database?namespace=orders
//	mysqls://user:password@host/database?namespace=orders&ca=/etc/ca.pem
//
// Or with a pool of your own, which stays yours, and has MultiStatements:
//
//	pool, err := sql.Open("mysql", "user:password@tcp(host)/database?multiStatements=true")
//	pool.SetConnMaxLifetime(time.Minute)
//	c, err := mysql.New(pool, "orders", mysql.Options{})
//
// # The URL
//
// The scheme mysqls is mysql with TLS. The path is the database; the port may be left out and is
// 3306 then. Open contacts nobody. Options:
//
//	namespace             its name
//	ttl, horizon, renew   times of the lease, see coord.LeaseConfig
//	skew                  how far a newcomer's clock may be from the server's, 1s
//	prefix                begins the names of the tables, unalike_
//	socket                the server's socket, in place of a host
//	accept                risks that are taken, separated by commas: innodb_flush_log_at_trx_commit,
//	                      sync_binlog, semi_sync, single_writer
//	ca                    certificates in PEM form that sign the server's; the system's
//	cert, key             the client's certificate and its key
//	password_file         a file with the password, in place of one in the URL
//	user_file             a file with the user, in place of one in the URL; with password_file
//
// Each connection reads the files, so that replacing one needs no restart. Go reads the system's
// authorities once: name them with ca if they change.
//
// # Transactions
//
// Each call to the server is one transaction of several statements in one round trip, for
// which a pool is needed whose configuration has MultiStatements. All of them have the isolation
// level repeatable read, whatever the server's is; where it matters rows are locked, and read
// after that. Arguments are hexadecimal literals, so that neither sql_mode nor the connection's
// character set changes what they mean; keys and records are binary; and times are numbers.
//
// # Frozen servers
//
// An operator freezes a server with read_only, super_read_only or the global transaction_read_only
// (tx_read_only) before its replica takes over. The driver commits nothing there, also as a user
// whom the server would let. A read-only error closes the connection, and the call goes on with a
// new one, which resolves the server's name again. A name that moves while the old server goes on
// is noticed as well: connections of a URL are replaced at an age of 30 to 60 s. The new connection
// is opened first, and the old one stays in use while that fails. In a pool of your own, set
// SetConnMaxLifetime to a minute at most. The driver cannot check that.
//
// # What a server must keep
//
// A commit that was confirmed must be there after a crash. A server of which
// innodb_flush_log_at_trx_commit, or sync_binlog where it has a binary log, is not 1 is refused,
// unless that is accepted; so is semi-synchronous replication that waits too late or has fallen
// back to asynchronous, and Galera, which does not carry the locks of rows from one node to
// another: accept single_writer where all programs write to the same node.
//
// A server that takes over has another server ID, and so it is noticed that writes may be lost
// with the old one: nothing is granted until the windows that they may have had are over. Every
// server of a replication topology has a server_id or server_uuid of its own anyway. MariaDB's
// lineage has its host name and port, too: one that moves is one that was replaced.
package mysql
