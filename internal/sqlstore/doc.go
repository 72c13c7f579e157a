// Package sqlstore keeps namespaces in the tables of an SQL database: it is the store of
// package protocol that the drivers for such databases share. A driver adds a [DB] and a
// [Dialect].
//
// # What is stored
//
// Tables for all namespaces of a database, whose names begin with a prefix:
//
//   - namespaces: the record of each namespace, and the lineage in which it was settled last
//   - slots: for each worker ID its slot, the token that leads to it, the identity that had it
//     last, and when its lease ends, in microseconds since 1970 by the server's clock. A row of
//     version 0 was never granted.
//     All rows of a namespace are made with it, so that one which is missing was lost.
//   - tickets: a sequence from which each acquisition draws, so that those who start at once
//     begin at different worker IDs. MySQL has none, and they begin anywhere.
//   - history: for each namespace that was ever made its last record, also after its other rows are
//     gone. The row * is made with the tables and has their version.
//
// And a view for people, workers.
//
// Each row has a version, which counts its writes, and a stamp, which is random with every
// write: versions come again after a restored dump, stamps do not.
//
// # Deleted namespaces
//
// A namespace that has no row may have been deleted while its holders live. The history shows
// that: then the namespace is made again, with the record that it had and the floor of a loss. The
// history can be deleted too. Its row * is made before the table of namespaces, so that a missing
// row proves a deletion. The next transaction that writes puts the row back, with the time as its
// stamp, and from then on every namespace that is made with these tables begins with the floor. The
// same holds if the tables are made while the sequence of tickets is there and was used. A
// namespace that is made without any of this has no floor.
//
// The transaction that makes a namespace writes to the history first, and does nothing if that has
// changed since it was read: the namespace can have been made by another process, and deleted
// again.
//
// # Transactions
//
// Everything is one transaction in one round trip, and one message, so that the server never
// waits for a client that has something locked. One that writes locks the namespace before it
// looks at anything, so that no floor is raised between its look and its commit, whatever the
// isolation level: that is an advisory lock on PostgreSQL, and the lock of a row elsewhere.
// Whether a change was done is read in the same transaction: what is stored has its stamp then.
//
// Nobody sends a change again: neither this package, which leaves that to the coordinator, nor
// the clients below it. A transaction that a dead lock or a serialization failure has ended was
// rolled back, and one whose connection broke is unknown. So no outcome is ever Repeated; and if
// somebody between the client and the server sends a change twice, its stamp is found by the
// second.
package sqlstore
