// Package postgres keeps the numbers of package segment in a PostgreSQL (12 and later) table with
// the columns of Leaf's leaf_alloc, and their meaning.
//
// As a URL for segment.Open, with this package imported for its side effect:
//
//	postgres://user:password@host:5432/database?table=leaf_alloc
//	postgress://user:password@host1,host2/database?table=schema.leaf_alloc&ca=/etc/ca.pem
//
// Or with a pool of your own, which stays yours:
//
//	postgres.Prepare(config) // before the pool is made
//	store, err := postgres.New(pool, postgres.Options{})
//
// # The URL
//
// The scheme postgress is postgres with TLS. The path is the database; the port may be left out and
// is 5432 then. With several hosts the first that can be written to is used. Options are those of
// package segment/mysql: table, durable, failover, socket, ca, cert, key, password_file, user_file.
//
// # A take
//
// A take is one message and one round trip: a transaction with synchronous_commit on that locks the
// row of the tag, reads the record of the server, updates the row and reads it back. If a trigger
// or a view has stored something else, the transaction is rolled back. A commit that is confirmed
// with a warning, because the wait for a standby was cancelled, is not handed out. Nothing is
// prepared and no state of the session is used, so that a pooler such as PgBouncer may have another
// connection for each transaction. Dead locks are tried again. What is given back is sent in a
// transaction of two messages, and once.
//
// # Which server it is
//
// The identity is the system identifier and the timeline, which a promotion changes. It is compared
// in the statement itself, because a pooler can lead to another server at any time, and is kept in
// the table unalike_meta, which the first program makes if it may. A frozen server, and a name that
// moves, are those of package coord/postgres.
package postgres
