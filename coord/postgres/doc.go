// Package postgres leases worker IDs in a PostgreSQL database, 12 or later. See package coord for
// the rules.
//
//	import _ "github.com/unalike-id/unalike/coord/postgres"
//
//	const url = "postgres://user:password@host/database?namespace=orders"
//	ids, err := unalike.Open(ctx, url, unalike.Config{})
//
// What is stored, and how, is said in internal/sqlstore, which this driver shares with package
// mysql. The URL is one of these:
//
//	postgres://user:password@host1:5432,host2:5432/database?namespace=orders
//	postgress://user:password@host/database?namespace=orders&ca=/etc/ca.pem
//
// Or with a pool of your own, which stays yours:
//
//	config, err := pgxpool.ParseConfig("postgres://...")
//	postgres.Prepare(config)
//	pool, err := pgxpool.NewWithConfig(ctx, config)
//	c, err := postgres.New(pool, "orders", postgres.Options{})
//
// # The URL
//
// The scheme postgress is postgres with TLS. The path is the database; the port may be left out and
// is 5432 then. Of several hosts, the first that can be written to is used. Open contacts nobody.
// Options:
//
//	namespace             its name
//	ttl, horizon, renew   times of the lease, see coord.LeaseConfig
//	skew                  how far a newcomer's clock may be from the server's, 1s
//	prefix                begins the names of the tables, unalike_
//	socket                the folder of the server's socket, in place of a host
//	accept                risks that are taken, separated by commas: fsync, full_page_writes
//	ca                    certificates in PEM form that sign the servers'; the system's
//	cert, key             the client's certificate and its key
//	password_file         a file with the password, in place of one in the URL
//	user_file             a file with the user, in place of one in the URL; with password_file
//
// Each connection reads the files, so that replacing one needs no restart. Go reads the system's
// authorities once: name them with ca if they change.
//
// # Transactions
//
// Each call to the server is one transaction in one message and one round trip, with the isolation
// level read committed, whatever the server's is. Changes of a namespace and raises of its floor
// keep each other out with an advisory lock, whose key is a hash of prefix and namespace. Nothing
// is prepared, and no state of the session is used, so that a pooler may stand between. A change
// asks for synchronous_commit. A commit that is confirmed with a warning, because the wait for a
// standby was cancelled, is taken for one whose outcome is not known, and what settles it is
// another commit.
//
// # Frozen servers
//
// An operator freezes a server with default_transaction_read_only before its standby takes over.
// The driver writes nothing there, in sessions from before the freeze either: a read-only error
// closes the connection, and the call goes on with a new one, which resolves the server's name
// again. A name that moves while the old server goes on is noticed as well: connections of a URL
// are replaced at an age of 30 to 60 s. The new connection is opened first, and the old one stays
// in use while that fails. A pool of your own closes the old one first. Its sessions must not set
// default_transaction_read_only, which would hide what the operator sets.
//
// # What a server must keep
//
// A commit that was confirmed must be there after a crash, and on the standby that takes over. A
// server with fsync or full_page_writes off is refused, unless that is accepted. A standby that was
// promoted has another timeline, and so it is noticed that writes may be lost with the old server:
// nothing is granted until the windows that they may have had are over.
package postgres
