// Package mysql keeps the numbers of package segment in a MySQL (8.0 and later) or MariaDB (10.6
// and later) table: Leaf's leaf_alloc, with its columns and their meaning, so that an unchanged
// Leaf can use the same table at the same time.
//
// As a URL for segment.Open, with this package imported for its side effect:
//
//	mysql://user:password@host:3306/database?table=leaf_alloc
//	mysqls://user:password@host/database?table=schema.leaf_alloc&ca=/etc/ca.pem
//
// Or with a pool of your own, which stays yours, and has MultiStatements:
//
//	pool, err := sql.Open("mysql", "user:password@tcp(host)/database?multiStatements=true")
//	pool.SetConnMaxLifetime(time.Minute)
//	store, err := mysql.New(pool, mysql.Options{})
//
// # The URL
//
// The scheme mysqls is mysql with TLS. The path is the database; the port may be left out and is
// 3306 then. Options:
//
//	table            leaf_alloc if it is not given
//	durable          require: a server that may lose what it has confirmed is refused; warn, which
//	                 is the default
//	failover         skip:N adds N to every tag when the server is another one than before; stop,
//	                 which is the default, refuses until somebody has raised all tags
//	servers          the identities of the servers of a cluster, with commas: see below
//	socket           the server's socket, in place of a host
//	ca, cert, key    certificates, as in package coord/mysql
//	password_file, user_file
//	                 as there
//
// # A take
//
// A take is one message and one round trip: a transaction that locks the row of the tag, reads the
// record of the server, updates the row and reads it back. If a trigger or the column's type has
// changed what is stored, the transaction is rolled back. It begins with a ROLLBACK, because
// somebody else may have left the connection within a transaction, and does not depend on the
// session's settings. It changes nothing if the binary log has statements, because replicas would
// not have the range; if max_id would not fit into its column; if the server is another one than
// before; or if it has waited in the server for longer than its caller does. Dead locks are tried
// again. What is given back is sent in a transaction of two messages, and once. A table whose
// storage engine has no transactions is refused.
//
// # Which server it is
//
// MySQL has server_uuid. MariaDB has no such thing; its server_id, host name and port are taken
// together, so that a container needs a fixed host name. The identity is kept in the table
// unalike_meta beside leaf_alloc, which the first program makes if it may. The servers of a cluster
// each of which has all that any of them has confirmed are named with the option servers; reads of
// such a cluster must wait for writes (wsrep_sync_wait=7 in a Galera cluster,
// group_replication_consistency=BEFORE_AND_AFTER in Group Replication). A frozen server, and a name
// that moves, are those of package coord/mysql.
//
// Tags are compared as the column's collation does, which is mostly without case.
package mysql
