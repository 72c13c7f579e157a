// Package mysql keeps the numbers of package segment in a MySQL (8.0 and later) or MariaDB (10.6 and later)
// table: Leaf's leaf_alloc, with its columns and their meaning, so that an unchanged Leaf can use the same
// table at the same time.
//
// As a URL for segment.Open, with this package imported for its side effect:
//
//	mysql://user:password@host:3306/database?table=leaf_alloc
//	mysqls://user:password@host/database?table=schema.leaf_alloc&ca=/etc/ca.pem
//
// Or with a pool of your own, which stays yours:
//
//	store, err := mysql.New(pool, mysql.Options{})
//
// # The URL
//
// The scheme mysqls is mysql with TLS. The path is the database; the port may be left out and is 3306 then. Options:
//
//	table            leaf_alloc if it is not given
//	durable          require: a server that may lose what it has confirmed is refused; warn, which is the default
//	failover         skip:N adds N to every tag when the server is another one than before; stop, which is the
//	                 default, refuses until somebody has advanced the tag
//	socket           the server's socket, in place of a host
//	ca, cert, key    certificates, as in package coord/mysql
//
// # A take
//
// A take is one statement and one round trip: an UPDATE whose reply carries the new value as its insert ID. It changes
// nothing if autocommit is off, because then the range could be rolled back when it is in use already; if the binary log has
// statements, because replicas would not have the range; if max_id would not fit into its column, which the server would
// clamp if it is not strict; or if the server is another one than before. The bound of the column is read from the schema.
// Dead locks are tried again. What is given back is sent in a transaction, and once.
//
// With a pool of your own a ROLLBACK goes before it, which is another round trip: somebody else may have left a connection
// within a transaction.
//
// # Which server it is
//
// MySQL has server_uuid. MariaDB has no such thing; its server_id, host name and port are taken together, so that a container
// needs a fixed host name. The identity is kept in the table unalike_meta beside leaf_alloc, which the first program makes if it
// may; without it a warning says what is not noticed.
//
// Tags are compared as the column's collation does, which is mostly without case.
package mysql
